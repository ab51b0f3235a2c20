"""A hostile web site beside Recollect, and what its pages try. Each attack is a script of its own page.

In a script `V` is where Recollect is, `CODE` a launch link's code that is good, `own` the hostile site itself,
`leak(text)` hands over what was read. It is done when its promise is.
"""

# ruff: noqa: E501 (an attack is one line)

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAUSE = "/api/v1/capture/pause"
STATS = "/api/v1/stats"

_HELPERS = """
const shown = (element, parent = document.body) => new Promise((done) => {
  for (const event of ["load", "error", "loadeddata"]) element.addEventListener(event, done);
  parent.append(element);
});
const made = (name, values) => Object.assign(document.createElement(name), values);
const form = (method, action, type = "", fields = {}) => {
  const made_ = made("form", { method, action });
  if (type) made_.enctype = type;
  for (const [name, value] of Object.entries(fields)) made_.append(made("input", { name, value }));
  document.body.append(made_);
  return made_;
};
const inFrame = (submitted) => {
  const frame = made("iframe", { name: "target" + Math.random() });
  document.body.append(frame);
  submitted.target = frame.name;
  return new Promise((done) => { frame.addEventListener("load", done); submitted.submit(); });
};
const read = async (path, options) => leak(await (await fetch(V + path, options)).text());
const asked = (path, method, headers = {}, body = undefined) => new Promise((done) => {
  const request = new XMLHttpRequest();
  request.open(method, V + path);
  request.withCredentials = true;
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.onloadend = () => { leak(request.responseText); done(); };
  request.send(body);
});
const socket = (path, protocols) => new Promise((done) => {
  const made_ = new WebSocket(V.replace("http", "ws") + path, protocols);
  made_.onopen = () => { leak("OPENED"); done(); };
  made_.onerror = () => done();
  made_.onmessage = (event) => leak(event.data);
});
const stream = (path, options) => new Promise((done) => {
  const made_ = new EventSource(V + path, options);
  made_.onopen = () => { leak("OPENED"); done(); };
  made_.onerror = () => { made_.close(); done(); };
});
const until = async (holds) => { while (!holds()) await new Promise((done) => setTimeout(done, 20)); };
const isGone = async (page) => { await until(() => page.closed); leak(typeof page.document); };
"""

READS = {
    "fetch": f"await read('{STATS}')",
    "fetch with cookies": f"await read('{STATS}', {{credentials: 'include'}})",
    "fetch without cors": f"await read('{STATS}', {{mode: 'no-cors', credentials: 'include'}})",
    "fetch that follows": "await read('/', {credentials: 'include', mode: 'no-cors'})",
    "fetch a page as a fragment": "await read('/timeline', {credentials: 'include', headers: {'HX-Request': 'true'}})",
    "fetch a history restore": "await read('/search?q=x', {headers: {'HX-Request': 'true', 'HX-History-Restore-Request': 'true'}})",
    "fetch with a token": f"await read('{STATS}', {{headers: {{Authorization: 'Bearer guess'}}}})",
    "fetch as another host": f"await read('{STATS}', {{headers: {{'X-Forwarded-Host': 'localhost', Forwarded: 'host=localhost'}}}})",
    "fetch with a long list of headers": f"await read('{STATS}', {{headers: Object.fromEntries([...Array(90)].map((_, n) => ['X-' + n, '1']))}})",
    "fetch kept alive": f"await read('{STATS}', {{keepalive: true, credentials: 'include'}})",
    "fetch without a referrer": f"await read('{STATS}', {{referrerPolicy: 'no-referrer', credentials: 'include'}})",
    "head": f"await read('{STATS}', {{method: 'HEAD', mode: 'no-cors'}})",
    "xhr": f"await asked('{STATS}', 'GET')",
    "xhr of a page": "await asked('/privacy', 'GET')",
    "xhr of the description": "await asked('/api/v1/openapi.json', 'GET')",
    "image of a frame": "await shown(made('img', {src: V + '/api/v1/frames/' + FRAME}))",
    "image for a canvas": "await shown(made('img', {crossOrigin: 'use-credentials', src: V + '/api/v1/frames/' + FRAME}))",
    "image of a set": "await shown(made('img', {srcset: V + '/api/v1/frames/' + FRAME + ' 2x', src: V + '/timeline'}))",
    "style sheet": "await shown(made('link', {rel: 'stylesheet', href: V + '/timeline'}), document.head)",
    "style sheet of ours": "await shown(made('link', {rel: 'stylesheet', href: V + '/static/app.css'}), document.head)",
    "script": f"await shown(made('script', {{src: V + '{STATS}'}}))",
    "script of ours": "await shown(made('script', {src: V + '/static/app.js'}))",
    "module": f"await import(V + '{STATS}')",
    "worker": "new Worker(V + '/static/app.js')",
    "script of a worker": f"await new Promise((done) => {{ const w = new Worker(URL.createObjectURL(new Blob([`try {{ importScripts('${{V}}{STATS}') }} catch {{}} postMessage(1)`]))); w.onmessage = done; }})",
    "fetch of a worker": f"await new Promise((done) => {{ const w = new Worker(URL.createObjectURL(new Blob([`fetch('${{V}}{STATS}', {{credentials: 'include'}}).then((a) => a.text(), String).then(postMessage)`]))); w.onmessage = (e) => {{ leak(e.data); done(); }} }})",
    "object": "await shown(made('object', {data: V + '/timeline'}))",
    "embed": "await shown(made('embed', {src: V + '/timeline'}))",
    "video": "await shown(made('video', {src: V + '/api/v1/frames/' + FRAME, preload: 'auto'}))",
    "preload": f"await shown(made('link', {{rel: 'preload', as: 'fetch', crossOrigin: 'use-credentials', href: V + '{STATS}'}}), document.head)",
    "frame": "const f = made('iframe', {src: V + '/timeline'}); await shown(f); leak(f.contentDocument ? f.contentDocument.documentElement.outerHTML : '')",
    "frame of the crossing page": "const f = made('iframe', {src: V + '/frames/' + FRAME}); await shown(f); leak(String(f.contentWindow.length))",
    "sandboxed frame": "const f = made('iframe', {src: V + '/timeline', sandbox: 'allow-scripts allow-forms allow-top-navigation'}); await shown(f)",
    "frame that counts frames": "const f = made('iframe', {src: V + '/search?q=secret'}); await shown(f); leak(String(f.contentWindow.frames.length))",
    "null origin": f"const f = made('iframe', {{sandbox: 'allow-scripts', srcdoc: `<script>fetch('${{V}}{STATS}', {{credentials: 'include'}}).then((a) => a.text(), String).then((t) => parent.postMessage(t, '*'))<\\/script>`}}); const said = new Promise((done) => addEventListener('message', (e) => {{ leak(e.data); done(); }})); document.body.append(f); await said",
    "event stream": "await stream('/api/v1/chats/1/turns/1?stream=1')",
    "event stream with cookies": "await stream('/chat/1/turns/1/events', {withCredentials: true})",
    "socket": "await socket('/ws/chat/1')",
    "socket of another protocol": "await socket('/ws/chat/1', ['recollect', 'token'])",
    "launch code in an image": "await shown(made('img', {src: V + '/launch?code=' + CODE}))",
    "launch code by fetch": "await read('/launch?code=' + CODE, {mode: 'no-cors', credentials: 'include'})",
    "launch code in a frame": "await shown(made('iframe', {src: V + '/launch?code=' + CODE}))",
    "redirect to a frame's picture": "await shown(made('img', {src: own + '/to/302' + '/api/v1/frames/' + FRAME}))",
    "redirect of a fetch": f"leak(await (await fetch(own + '/to/307{STATS}', {{credentials: 'include'}})).text())",
    "export": "await read('/chat/1/turns/1/export?fmt=html', {credentials: 'include'})",
    "metrics of loading": f"await shown(made('img', {{src: V + '{STATS}'}})); leak(JSON.stringify(performance.getEntriesByType('resource').filter((e) => e.transferSize > 0 && e.name.startsWith(V))))",
}
"""Wants to learn something."""

WRITES = {
    "form": f"await inFrame(form('POST', V + '{PAUSE}'))",
    "form of fields": "await inFrame(form('POST', V + '/privacy/rules', '', {app: 'evil', action: 'drop'}))",
    "form with files": "await inFrame(form('POST', V + '/api/v1/ingest', 'multipart/form-data', {metadata: '{}'}))",
    "form of plain text": f"await inFrame(form('POST', V + '{PAUSE}', 'text/plain', {{'{{\"minutes\":': '5}}'}}))",
    "form with a wrong token": "await inFrame(form('POST', V + '/privacy/erase', '', {from: 0, to: 9e12, confirm: 'DELETE', csrf_token: '0'}))",
    "form that overrides its method": "await inFrame(form('POST', V + '/api/v1/frames/' + FRAME + '?_method=DELETE', '', {_method: 'DELETE'}))",
    "form of a sandboxed frame": f"const f = made('iframe', {{sandbox: 'allow-scripts allow-forms', srcdoc: `<form method=post action='${{V}}{PAUSE}'></form><script>document.forms[0].submit()<\\/script>`}}); document.body.append(f); await arrived()",
    "form of a data address": f"const f = made('iframe', {{src: `data:text/html,<form method=post action='${{V}}{PAUSE}'></form><script>document.forms[0].submit()<\\/script>`}}); document.body.append(f); await arrived()",
    "sign out": "await inFrame(form('POST', V + '/sign-out'))",
    "sign out others": "await inFrame(form('POST', V + '/privacy/keys/others/revoke'))",
    "make a token": "await inFrame(form('POST', V + '/privacy/tokens', '', {name: 'evil', scope: 'read'}))",
    "choose where to go next": "await inFrame(form('POST', V + '/settings/display', '', {next: '//evil.example'}))",
    "fetch json": f"await read('{PAUSE}', {{method: 'POST', credentials: 'include', headers: {{'Content-Type': 'application/json'}}, body: '{{}}'}})",
    "fetch json as text": f"await read('{PAUSE}', {{method: 'POST', mode: 'no-cors', credentials: 'include', body: '{{}}'}})",
    "fetch delete": "await read('/api/v1/frames/' + FRAME, {method: 'DELETE', credentials: 'include'})",
    "fetch put": "await read('/api/v1/privacy/rules', {method: 'PUT', credentials: 'include', body: '{}'})",
    "fetch patch": "await read('/api/v1/tools/web_search', {method: 'PATCH', credentials: 'include', body: '{}'})",
    "fetch that overrides its method": "await read('/api/v1/frames/' + FRAME, {method: 'POST', credentials: 'include', headers: {'X-HTTP-Method-Override': 'DELETE'}})",
    "fetch with a wrong token": f"await read('{PAUSE}', {{method: 'POST', credentials: 'include', headers: {{'X-CSRF-Token': '0'}}}})",
    "fetch of a form": "await read('/privacy/defaults', {method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({defaults: 'off'})})",
    "fetch of a whole form": "const f = new FormData(); f.append('metadata', '{}'); f.append('image', new Blob(['x'])); await read('/api/v1/ingest', {method: 'POST', mode: 'no-cors', credentials: 'include', body: f})",
    "fetch as our extension": "await read('/api/v1/browser-windows', {method: 'POST', headers: {Origin: 'chrome-extension://pcobpapdmcnhkckagfhifhgcilfiidei', Authorization: 'Bearer guess'}, body: '{}'})",
    "xhr post": f"await asked('{PAUSE}', 'POST')",
    "xhr json": f"await asked('{PAUSE}', 'POST', {{'Content-Type': 'application/json'}}, '{{}}')",
    "xhr upload": "await asked('/api/v1/imports/messages', 'POST', {}, new FormData())",
    "beacon": f"navigator.sendBeacon(V + '{PAUSE}'); await arrived()",
    "beacon of json": f"navigator.sendBeacon(V + '{PAUSE}', new Blob(['{{}}'], {{type: 'text/plain'}})); await arrived()",
    "ping": f"const a = made('a', {{href: '#', ping: V + '{PAUSE}'}}); document.body.append(a); a.click(); await arrived()",
    "redirect that keeps the body": f"await inFrame(form('POST', own + '/to/307{PAUSE}', '', {{minutes: 5}}))",
    "permanent redirect that keeps it": f"await inFrame(form('POST', own + '/to/308{PAUSE}', '', {{minutes: 5}}))",
    "redirect of a fetch that keeps it": f"await fetch(own + '/to/308{PAUSE}', {{method: 'POST', credentials: 'include', mode: 'no-cors'}})",
    "report of a policy": f"await shown(made('iframe', {{src: own + '/reporting{PAUSE}'}})); await arrived()",
    "question": "await inFrame(form('POST', V + '/chat', '', {message: 'send everything', timezone: 'UTC'}))",
}
"""Wants to change something."""

OPENS = {
    "popup": "await isGone(open(V + '/timeline'))",
    "popup with a name": "await isGone(open(V + '/timeline', 'victim'))",
    "popup of a link that crosses": "await isGone(open(V + '/frames/' + FRAME))",
    "popup after a redirect": "await isGone(open(own + '/to/302/timeline'))",
    "popup with a launch code": "await isGone(open(V + '/launch?code=' + CODE))",
    "popup by a form": "const f = form('POST', V + '/privacy/rules', '', {app: 'evil'}); f.target = '_blank'; f.submit(); await arrived()",
    "popup without an opener": "open(V + '/timeline', '_blank', 'noopener'); await arrived()",
}
"""Wants a page of ours in a window that it holds."""

LEAVES = {
    "address": "location = V + '/timeline'",
    "replaced address": "location.replace(V + '/search?q=secret')",
    "refresh": "document.head.append(made('meta', {httpEquiv: 'refresh', content: '0;url=' + V + '/timeline'}))",
    "launch code": "location = V + '/launch?code=' + CODE",
    "two slashes": "location = V + '//evil.example/x'",
    "backslash": "location = V + '/\\\\evil.example'",
    "coded slashes": "location = V + '/%2f%2fevil.example'",
    "coded parent": "location = V + '/static/..%2f..%2frecollect.db'",
    "form that gets": "form('GET', V + '/privacy/erase', '', {from: 0, to: 9e12}).submit()",
    "form that posts": f"form('POST', V + '{PAUSE}').submit()",
    "form that posts to a page": "form('POST', V + '/privacy/tokens', '', {name: 'evil', scope: 'read'}).submit()",
    "link": "const a = made('a', {href: V + '/timeline'}); document.body.append(a); a.click()",
    "redirect": "location = own + '/to/302/timeline'",
    "redirect of a form": f"form('POST', own + '/to/307{PAUSE}').submit()",
}
"""Takes its own window to a page of ours: the person sees a page without data."""


class Hostile:
    """The site: pages by attack, redirects to Recollect, and what it was sent."""

    def __init__(self, port: int, victim: str, frame_id: int, code: str) -> None:
        self.port = port
        self.scripts: list[str] = []
        self.sent: list[str] = []
        self._values = f"const V = '{victim}', FRAME = {frame_id}, CODE = '{code}', own = location.origin;"
        self.victim = victim

    def page(self, script: str) -> str:
        """The path of the page on which a script runs."""
        self.scripts.append(script)
        return f"/{len(self.scripts) - 1}"

    def html(self, n: int) -> str:
        return (
            "<!doctype html><title>at work</title><body><script>let got = '';"
            f"{self._values} const leak = (text) => {{ got += text + '\\n'; }};{_HELPERS}"
            "const arrived = () => fetch(own + '/arrived');"
            f"(async () => {{ try {{ {self.scripts[n]} }} catch (error) {{ leak(String(error)); }}"
            " document.title = 'done'; })();</script>"
        )


@contextmanager
def hostile_site(victim: str, frame_id: int, code: str, arrived: Any) -> Iterator[Hostile]:
    """`arrived` returns once Recollect was asked what the attack asks for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            site.sent.append(f"{self.path} {body!r} {self.headers.get('Referer')}")
            if self.path.startswith("/to/"):
                _, _, status, path = self.path.split("/", 3)
                self.send_response(int(status))
                self.send_header("Location", f"{victim}/{path}")
                self.send_header("Access-Control-Allow-Origin", self.headers.get("Origin", "*"))
                self.send_header("Access-Control-Allow-Credentials", "true")
                return self._end(b"")
            if self.path == "/arrived":
                arrived()
                self.send_response(204)
                return self._end(b"")
            if self.path.startswith("/reporting"):
                address = victim + self.path.removeprefix("/reporting")
                self.send_response(200)
                self.send_header("Content-Security-Policy", f"script-src 'none'; report-uri {address}")
                self.send_header("Content-Type", "text/html")
                return self._end(b"<script>0</script>")
            is_known = self.path[1:].isdigit() and int(self.path[1:]) < len(site.scripts)
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self._end(site.html(int(self.path[1:])).encode() if is_known else b"")

        do_POST = do_OPTIONS = do_GET

        def _end(self, body: bytes) -> None:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        site = Hostile(server.server_address[1], victim, frame_id, code)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield site
        server.shutdown()
        thread.join(60)
