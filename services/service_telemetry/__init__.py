"""Spans of a process on their way to a collector: OpenTelemetry's SDK, set up when the environment asks for it.

The one package that imports the SDK and its exporters, which `pip install prometheus-agent[otel]` brings. Nothing of
them is imported unless an endpoint is set, and nothing here can fail or hold up the work of the process (ADR 13).
"""
