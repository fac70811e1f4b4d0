#!/usr/bin/env bash
# Brings the compose stack up on a real Docker engine, runs turns in it, and verifies their receipts offline.
#
# Works on a fresh Debian machine as root: installs docker.io and docker-compose, starts a daemon when none answers, and,
# when no registry can be reached, makes the base image from Debian's own packages (kept in STACK_CACHE between runs).
set -euo pipefail
cd "$(dirname "$0")/../.."

BASE=prometheus-agent/base:bookworm
CACHE=${STACK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/prometheus-agent/stack}
WORK=$(mktemp -d)
PROJECT=prometheus-agent-test
APT='apt-get -o DPkg::Lock::Timeout=300 -y -qq'
export DOCKER_BUILDKIT=0 COMPOSE_DOCKER_CLI_BUILD=0 # Debian's engine comes without buildx
STARTED_DAEMON=''

say() { printf '\n-- %s (%s s)\n' "$*" "$SECONDS"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

clean_up() {
  status=$?
  if [ "$status" -ne 0 ] && docker info >/dev/null 2>&1; then compose ps || true; compose logs --tail=40 || true; fi
  compose down -v --remove-orphans --timeout 5 >/dev/null 2>&1 || true
  if [ -n "$STARTED_DAEMON" ]; then kill "$(cat "$WORK/docker.pid")" 2>/dev/null || true; fi
  rm -rf "$WORK/out"
  exit "$status"
}
trap clean_up EXIT

compose() { docker-compose -p "$PROJECT" "$@"; }

install_engine() {
  command -v dockerd >/dev/null && command -v docker-compose >/dev/null && command -v debootstrap >/dev/null && return 0
  [ "$(id -u)" = 0 ] || fail 'docker is not installed and this is not root; install docker.io and docker-compose'
  export DEBIAN_FRONTEND=noninteractive
  $APT update
  $APT install --no-install-recommends docker.io docker-compose debootstrap iptables >/dev/null
}

start_daemon() {
  docker info >/dev/null 2>&1 && return 0
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  mkdir -p "$CACHE/docker"
  setsid nohup dockerd --data-root "$CACHE/docker" --exec-root "$WORK/exec" --pidfile "$WORK/docker.pid" \
    >"$WORK/docker.log" 2>&1 </dev/null &
  STARTED_DAEMON=yes
  for _ in $(seq 120); do docker info >/dev/null 2>&1 && return 0; sleep 0.5; done
  tail -20 "$WORK/docker.log"
  fail 'the Docker daemon did not start'
}

base_image() {
  docker image inspect "$BASE" >/dev/null 2>&1 && return 0
  if timeout 20 docker pull -q python:3.11-slim-bookworm >/dev/null 2>&1; then
    docker tag python:3.11-slim-bookworm "$BASE"
    return 0
  fi
  [ -s "$CACHE/base.tar" ] || make_base_tar
  docker import --change 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]' "$CACHE/base.tar" "$BASE" >/dev/null
}

make_base_tar() {
  local root="$WORK/root"
  mkdir -p "$CACHE"
  debootstrap --variant=minbase --include=ca-certificates,python3,python3-pip,python3-venv bookworm "$root" \
    >"$WORK/debootstrap.log" 2>&1 || { tail -20 "$WORK/debootstrap.log"; fail 'the base image could not be made'; }
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then # the machine's own authorities, for the build
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
  fi
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
  tar -C "$root" --numeric-owner -cf "$CACHE/base.tar.part" . && mv "$CACHE/base.tar.part" "$CACHE/base.tar"
  rm -rf "$root"
}

build() {
  for target in receipt-writer memory-mcp tools-mcp agent-host; do
    docker build --quiet --network host --build-arg BASE="$BASE" --target "$target" -t "prometheus-agent/$target" . >/dev/null \
      || fail "the image of $target does not build"
  done
}

healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$(compose ps -q "$1")" 2>/dev/null)" = healthy ]; }

up() {
  compose up -d --no-build >"$WORK/up.log" 2>&1 || { cat "$WORK/up.log"; fail 'the stack does not come up'; }
  for service in writer memory calendar notes search reports messages host; do
    for _ in $(seq 240); do healthy "$service" && break; sleep 0.5; done
    healthy "$service" || fail "$service did not become healthy"
  done
}

ask() { compose run --rm -T host ask "$1" 2>>"$WORK/ask.log" || { cat "$WORK/ask.log"; fail "the turn failed: $1"; }; }

check() { # a sentence, then the command that shows it
  local sentence=$1
  shift
  if "$@"; then PASSED=$((PASSED + 1)) && printf 'PASS %s\n' "$sentence"; else FAILED=$((FAILED + 1)) && printf 'FAIL %s\n' "$sentence"; fi
}

refused() { ! "$@" 2>/dev/null; }

verified() { # a verifier's command line
  "$@" >"$WORK/report" 2>&1 || { cat "$WORK/report"; return 1; }
}

check_turns() {
  ask 'Remember that the design team prefers morning meetings.' | tee "$WORK/first"
  ask 'Book a catch-up with the design team on Friday at 9am for 30 minutes' | tee "$WORK/second"
  ask 'What do you know about the design team?' | tee "$WORK/third"
  check 'a turn in the stack is signed' grep -q 'receipt 1 signed' "$WORK/first"
  check 'a booking in the stack is signed' grep -q 'receipt 2 signed' "$WORK/second"
  check 'what was remembered is recalled in another container' grep -q 'morning meetings' "$WORK/third"
  ask 'Draft an email to Sam about the picnic' >"$WORK/drafted"
  ask 'List my drafts and list my reports' | tee "$WORK/listed"
  check 'what was drafted is in the outbox of the messages server' grep -q 'Email to Sam, “The picnic”' "$WORK/listed"
  check 'the reports server answers' grep -q 'You have no reports yet' "$WORK/listed"
}

check_receipts() {
  local out="$WORK/out"
  mkdir -p "$out"
  docker cp "$(compose ps -q writer):/data/receipts/." "$out"
  for chain in turns decisions; do
    local arguments=("$out/chains/$chain.jsonl" --policy "$out/policy-$chain.json")
    check "verify.py passes the volume's $chain" verified python3 verifier/verify.py "${arguments[@]}"
    check "verify.mjs passes the volume's $chain" verified node verifier/verify.mjs "${arguments[@]}"
  done
  check 'receipts verify passes inside the stack' verified compose run --rm -T host receipts verify
}

check_hardening() {
  local writer host memory
  writer=$(compose ps -q writer) host=$(compose ps -q host) memory=$(compose ps -q memory)
  check 'the writer is nobody' docker exec "$writer" sh -c '[ "$(id -u)" = 10001 ]'
  check 'the host can read the chains' docker exec "$host" test -r /data/receipts/chains/turns.jsonl
  check 'the host cannot write them' refused docker exec "$host" sh -c 'echo x >>/data/receipts/chains/turns.jsonl'
  check 'the root is read-only' refused docker exec "$writer" sh -c 'echo x >/app/x'
  check 'no capabilities' docker exec "$writer" grep -q '^CapEff:.0000000000000000' /proc/1/status
  check 'no token, no tools' docker exec "$memory" python3 -c '
import urllib.request, urllib.error
try: urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8931/mcp", data=b"{}", method="POST"), timeout=3)
except urllib.error.HTTPError as error: raise SystemExit(error.code != 401)
raise SystemExit(1)'
}

check_recovery() {
  docker kill -s KILL "$(compose ps -q writer)" >/dev/null
  compose up -d --no-build writer >/dev/null 2>&1
  for _ in $(seq 120); do healthy writer && break; sleep 0.5; done
  ask 'hello' >"$WORK/last"
  check 'the chain goes on after kill -9 of the writer' grep -q 'receipt 6 signed' "$WORK/last"
}

PASSED=0 FAILED=0
say 'engine'; install_engine; start_daemon
say 'base image'; base_image
say 'build'; build
say 'up'; up; compose ps
say 'checks'; check_turns; check_receipts; check_hardening; check_recovery
say 'done'
printf '%s passed, %s failed\n' "$PASSED" "$FAILED"
[ "$FAILED" = 0 ] && [ "$PASSED" = 17 ]
