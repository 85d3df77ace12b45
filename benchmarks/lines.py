"""Ordinary command lines of a developer's day, written for measuring: nothing here is taken from anybody's history."""

LINES = """
git status --short
git diff --stat HEAD~1
git log --oneline -20
git add -A && git commit -m "fix: handle empty input"
git checkout -b feature/retry
git push -u origin feature/retry
git stash list
git show HEAD:src/app.py | head -40
git rev-parse --abbrev-ref HEAD
git log --author="$(git config user.name)" --since=yesterday --pretty=format:'%h %s'
ls -la
ls -la src/ tests/
cat README.md | head -50
head -n 20 data/input.csv
tail -f logs/app.log
wc -l src/*.py
find . -name "*.py" -type f | wc -l
find src -name '*.test.ts' -not -path '*/node_modules/*'
find . -type f -newer Makefile -print0 | xargs -0 grep -l TODO
grep -rn "def main" src --include='*.py'
grep -c '^ERROR' /var/log/app.log
rg -n "async fn" --type rust src
sed -n '40,80p' src/server.py
sed -i 's/old_name/new_name/g' src/*.py
awk -F, '{ sum += $3 } END { print sum }' data.csv
sort names.txt | uniq -c | sort -rn | head
cut -d: -f1 /etc/passwd
tr '[:upper:]' '[:lower:]' < in.txt > out.txt
diff -u a.txt b.txt
diff <(sort a.txt) <(sort b.txt)
mkdir -p build/output && cd build/output
cp -r templates/ dist/templates
mv draft.md docs/guide.md
rm -f build/*.o
rm -rf node_modules && npm ci
chmod +x scripts/deploy.sh
touch src/new_module.py
ln -s ../shared/config.yml config.yml
du -sh * | sort -h
df -h /
ps aux | grep python | grep -v grep
kill -TERM 4242
lsof -i :8080
curl -s https://api.example.com/v1/items | jq '.items[] | .name'
curl -X POST -H 'Content-Type: application/json' -d '{"name": "x", "tags": ["a", "b"]}' http://localhost:8000/items
wget -q https://example.com/file.tar.gz -O /tmp/file.tar.gz
tar -xzf /tmp/file.tar.gz -C vendor --strip-components=1
tar czf backup.tgz --exclude=node_modules .
zip -r site.zip public
npm install --save-dev typescript
npm run build
npm test -- --watch=false
npx eslint src --fix
pnpm install --frozen-lockfile
yarn workspace web build
node scripts/migrate.js --dry-run
node -e "console.log(process.version)"
python -m pytest tests/ -x -q
python -m venv .venv && source .venv/bin/activate && pip install -r requirements.txt
python3 -c "import json, sys; print(json.load(sys.stdin)['version'])" < package.json
python manage.py migrate --plan
pip install -e '.[dev]'
uv run pytest -k test_parser
uv pip install httpx
poetry run mypy src
ruff check . && ruff format --check .
cargo build --release
cargo test --workspace -- --nocapture
go test ./... -run TestServer -count=1
go build -o bin/server ./cmd/server
make test
make -j4 all
mvn -q -DskipTests package
./gradlew assembleDebug
docker ps -a
docker build -t app:dev .
docker run --rm -it -p 8080:80 app:dev
docker compose up -d
docker compose logs --tail=100 web
docker exec -it app_db psql -U app -c 'select count(*) from users'
kubectl get pods -n staging
kubectl logs deploy/web --tail=50
kubectl describe pod web-0 | grep -A5 Events
terraform plan -out=tfplan
aws s3 ls s3://example-bucket/reports/
gh pr list --state open --limit 10
gh pr create --title "Add retries" --body "Retries with backoff."
psql -h localhost -U app -d app -c "\\dt"
sqlite3 app.db "select name from sqlite_master"
redis-cli ping
ssh deploy@web1 'systemctl status app'
scp build/app.tar.gz deploy@web1:/srv/app/
rsync -av --delete dist/ web1:/srv/www/
export NODE_ENV=production
PORT=3000 npm start
FOO=bar BAZ="two words" ./run.sh --verbose
echo "done" >> build.log
echo $PATH | tr ':' '\\n'
printf '%s\\n' "$HOME" "$USER"
for f in src/*.ts; do echo "$f"; done
for i in 1 2 3; do curl -s "http://localhost:8000/health"; sleep 1; done
while read -r line; do echo "$line"; done < input.txt
if [ -f .env ]; then source .env; fi
[ -d build ] || mkdir build
test -f package.json && cat package.json
[[ "$OSTYPE" == darwin* ]] && brew --version
case "$1" in start) npm start;; stop) npm stop;; esac
cd /tmp && ls && cd -
(cd frontend && npm run lint)
{ date; uptime; } > status.txt 2>&1
time make build
timeout 60 npm test
nohup python worker.py > worker.log 2>&1 &
sleep 5 && curl -fsS localhost:8000/ready
which python3 && python3 --version
command -v docker >/dev/null 2>&1 || echo "no docker"
env | sort
history | tail -20
uname -a
whoami && id
date +%Y-%m-%d
base64 -d token.b64 > token.json
openssl rand -hex 16
jq -r '.dependencies | keys[]' package.json
tsc --noEmit -p tsconfig.json
jest --coverage src/parser
vim +42 src/app.py
code -n .
tree -L 2 -I 'node_modules|.git'
xxd -l 64 image.png
file dist/app
sha256sum dist/*.whl
sudo apt-get update && sudo apt-get install -y ripgrep
brew install jq
systemctl --user restart app.service
journalctl -u app -n 100 --no-pager
crontab -l
git fetch --all --prune && git rebase origin/main
git bisect start HEAD v1.2.0
git log --graph --oneline --all | head -30
git blame -L 10,20 src/app.py
git config --get remote.origin.url
git tag -a v1.3.0 -m "release 1.3.0"
""".strip().splitlines()

HEREDOCS = (
    "cat > notes.md <<'EOF'\n# Notes\n\n- first\n- second, with `code` and $5\nEOF",
    "python3 - <<'EOF'\nimport json\nprint(json.dumps({'a': 1}))\nEOF",
    "git commit -m \"$(cat <<'EOF'\nfix: keep the order of headers\n\nIt's what the tests say :)\nEOF\n)\"",
    "cat <<EOF | tee config.ini\n[server]\nport = ${PORT:-8080}\nEOF",
    "set -e\nfor d in api web; do\n  (cd $d && npm ci && npm test)\ndone\necho ok",
)

COMMANDS = (*LINES, *HEREDOCS)
