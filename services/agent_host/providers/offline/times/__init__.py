"""Ordinary English for times: from a person's words to dates, clock times, spans and recurrence rules.

`pieces` finds the time words of a sentence, `events` and `periods` turn them into something a calendar can take.
Every date is computed by `dateparser` and every recurrence by `dateutil`, both loaded at the first date.
"""
