"""Logins to remote servers by OAuth 2.1: the SDK's client does the protocol; storage, redirect and manners are ours.

`record` and `folder` say what is kept, `redirect` hears the browser, `stored` serves calls without ever asking anybody,
`login` and `logout` are for a person at a terminal. Only these three import the SDK.
"""
