# One file, a target per service; each image holds the libraries of its own extra, what sends spans, and nothing more.
#   docker build --target memory-mcp -t prometheus-agent/memory-mcp .
ARG BASE=python:3.11-slim-bookworm

# What builds: hatchling and the lock, hashes checked.
FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY packaging packaging
RUN python3 packaging/locked_subset.py --names hatchling > /tools.lock \
 && python3 -m venv /tools && /tools/bin/pip install --quiet --require-hashes -r /tools.lock

FROM build AS wheel
COPY protos protos
COPY verifier verifier
COPY services services
RUN /tools/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels .

# Libraries first, so that a change of ours does not fetch them anew.
FROM build AS build-memory
RUN /tools/bin/python packaging/locked_subset.py memory otel-http > /subset.lock \
 && python3 -m venv /app && /app/bin/pip install --quiet --require-hashes -r /subset.lock
COPY --from=wheel /wheels /wheels
RUN /app/bin/pip install --quiet --no-deps /wheels/*.whl

FROM build AS build-tools
RUN /tools/bin/python packaging/locked_subset.py tools otel-http > /subset.lock \
 && python3 -m venv /app && /app/bin/pip install --quiet --require-hashes -r /subset.lock
COPY --from=wheel /wheels /wheels
RUN /app/bin/pip install --quiet --no-deps /wheels/*.whl

FROM build AS build-writer
RUN /tools/bin/python packaging/locked_subset.py writer otel > /subset.lock \
 && python3 -m venv /app && /app/bin/pip install --quiet --require-hashes -r /subset.lock
COPY --from=wheel /wheels /wheels
RUN /app/bin/pip install --quiet --no-deps /wheels/*.whl

FROM build AS build-host
RUN /tools/bin/python packaging/locked_subset.py host otel > /subset.lock \
 && python3 -m venv /app && /app/bin/pip install --quiet --require-hashes -r /subset.lock
COPY --from=wheel /wheels /wheels
RUN /app/bin/pip install --quiet --no-deps /wheels/*.whl

# What every service runs on: nobody's account, one folder it may write to.
FROM ${BASE} AS run
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin app \
 && install -d -o 10001 -g 10001 -m 700 /data /data/receipts /data/memory /data/calendar /data/notes /data/search \
    /data/reports /data/messages /data/host /tokens
ENV PATH=/app/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 PROMETHEUS_HOME=/data
USER 10001:10001
WORKDIR /data

FROM run AS memory-mcp
COPY --from=build-memory /app /app
ENTRYPOINT ["memory-mcp"]

FROM run AS tools-mcp
COPY --from=build-tools /app /app
ENTRYPOINT ["tools-mcp"]

FROM run AS receipt-writer
COPY --from=build-writer /app /app
ENTRYPOINT ["receipt-writer"]

FROM run AS agent-host
COPY --from=build-host /app /app
ENTRYPOINT ["agent-host"]
