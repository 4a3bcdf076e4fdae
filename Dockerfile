FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/kimibot
ENV PATH=/opt/kimibot/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements.lock ./
RUN pip install --require-hashes --requirement requirements.lock
COPY . ./
RUN pip install --no-deps . && python -m compileall -q /opt/kimibot

FROM python:3.13-slim
RUN useradd --system --uid 10001 --user-group --create-home kimibot \
    && install --directory --owner=kimibot --group=kimibot /data
COPY --from=build /opt/kimibot /opt/kimibot
ENV PATH=/opt/kimibot/bin:$PATH PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 PORT=3000 DATABASE_URL=sqlite:////data/kimibot.db
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=4)"]
ENTRYPOINT ["kimibot"]
CMD ["run"]
