# The service that decides, as a user of its own: docs/daemon.md says what must be mounted.
#
#   docker build -t verdikt .
#   docker run -d --name verdikt --pid=host -v /run/verdikt:/run/verdikt -v verdikt-data:/var/lib/verdikt \
#     -v /etc/passwd:/etc/passwd:ro -v /etc/verdikt:/etc/verdikt:ro -v /home:/home:ro verdikt
FROM python:3.12-slim
RUN useradd --system --uid 961 --home-dir /var/lib/verdikt --shell /usr/sbin/nologin verdikt
RUN install -d -o verdikt -m 0700 /var/lib/verdikt && install -d -o verdikt -m 0755 /run/verdikt
COPY . /src
RUN python3 -m venv /opt/verdikt && /opt/verdikt/bin/pip install --quiet --no-cache-dir /src && rm -rf /src
USER verdikt
VOLUME ["/var/lib/verdikt", "/run/verdikt"]
ENTRYPOINT ["/opt/verdikt/bin/verdikt", "daemon", "start", "--system", "--socket", "/run/verdikt/daemon.sock", "--home", "/var/lib/verdikt"]
