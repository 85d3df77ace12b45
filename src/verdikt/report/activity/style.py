"""The stylesheet of the HTML report."""

STYLESHEET = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --panel: #ffffff; --text: #1c2330; --soft: #5b6577; --line: #dfe3ea; --link: #1f5fbf;
  --pass: #8aa4c4; --ask: #d99a1c; --block: #c8373f; --other: #7b6bb2;
  --followed_fix: #3c9a6a; --another_way: #d99a1c; --repeated: #c8373f; --gave_up: #98a1b0;
  --mark: #eef2f8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --panel: #1b212b; --text: #e6eaf1; --soft: #9aa5b7; --line: #2d3644; --link: #86b6ff;
    --pass: #5f7ea6; --ask: #e2ac3f; --block: #e5646b; --other: #a596dd;
    --followed_fix: #4fb583; --another_way: #e2ac3f; --repeated: #e5646b; --gave_up: #6c7789;
    --mark: #252d3a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.5rem; margin: .5rem 0 0; }
h2 { font-size: 1.1rem; margin: 0 0 .75rem; }
h3 { font-size: 1rem; margin: 0 0 .35rem; font-weight: 600; }
p { margin: 0 0 .4rem; }
a { color: var(--link); text-underline-offset: .15em; }
section {
  background: var(--panel); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; margin: 1rem 0;
}
code, pre { font: .875em/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.word { white-space: nowrap; }
pre { margin: .3rem 0; padding: .5rem .6rem; background: var(--mark); border-radius: .3rem; white-space: pre-wrap; }
.range, .caption, .empty, .why { color: var(--soft); font-size: .875rem; }
.range { margin: 0; }
.lead { font-size: 1.1rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .6rem; }
.tile {
  display: flex; flex-direction: column; padding: .6rem .8rem; border-radius: .4rem; background: var(--mark);
  border-left: .3rem solid var(--pass); color: var(--text); text-decoration: none;
}
.tile strong { font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .875rem; }
.tile:hover, .tile:focus { outline: 2px solid var(--link); }
.tile.ask { border-color: var(--ask); } .tile.block { border-color: var(--block); }
.tile.other { border-color: var(--other); }
svg { display: block; width: 100%; }
svg.columns { height: 6rem; border-bottom: 1px solid var(--line); margin-bottom: .4rem; }
svg.bar { height: .7rem; margin: .3rem 0 .5rem; background: var(--mark); border-radius: .2rem; }
.axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .8rem; }
rect.hit { fill: transparent; } a:hover rect.hit, a:focus rect.hit { fill: var(--mark); }
rect.pass { fill: var(--pass); } rect.ask { fill: var(--ask); } rect.block { fill: var(--block); }
rect.followed_fix { fill: var(--followed_fix); } rect.another_way { fill: var(--another_way); }
rect.repeated { fill: var(--repeated); } rect.gave_up { fill: var(--gave_up); }
.legend {
  list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0; padding: 0; font-size: .9rem;
}
.key {
  display: inline-block; width: .8em; height: .8em; border-radius: .15em; margin-right: .4em; background: var(--pass);
}
.key.ask { background: var(--ask); } .key.block { background: var(--block); }
.key.followed_fix { background: var(--followed_fix); } .key.another_way { background: var(--another_way); }
.key.repeated { background: var(--repeated); } .key.gave_up { background: var(--gave_up); }
article { padding: .6rem 0; border-top: 1px solid var(--line); }
article:first-of-type { border-top: 0; padding-top: 0; }
.card { border-left: .3rem solid var(--link); padding: .2rem 0 .2rem .8rem; border-top: 0; margin-bottom: .8rem; }
details { margin: .2rem 0; } summary { cursor: pointer; color: var(--link); }
.list { list-style: none; margin: .3rem 0; padding: 0; }
.list li { padding: .5rem 0; border-top: 1px solid var(--line); }
.list p { margin: 0; }
.badge {
  display: inline-block; min-width: 3.4em; text-align: center; border-radius: .25rem; padding: 0 .4em; font-size: .8rem;
  margin-right: .5em; color: var(--panel); background: var(--soft);
}
.example { margin: 0; }
.badge.block { background: var(--block); } .badge.ask { background: var(--ask); color: #1c1400; }
:target { outline: 2px solid var(--link); outline-offset: .3rem; border-radius: .2rem; }
@media (max-width: 30rem) { body { padding: .5rem; } section { padding: .75rem; } }
@media print { body { background: none; } section { break-inside: avoid; border: 0; } }
"""
