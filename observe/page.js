// Keeps the page live: the server sends the part that changes whenever it has, and what differs is
// put into the page, so that what is open stays open and what is marked stays marked.
(() => {
  "use strict";
  const live = document.getElementById("live");
  const [text, button, reload] = ["span", "button", "a"].map((name) => live.querySelector(name));
  let source = null, paused = false;

  const say = (state, words) => { live.dataset.state = state; text.textContent = words; };

  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "");

  const patch = (old, fresh) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name); // the reader opens and shuts
    }
    const known = new Map([...old.children].filter((e) => e.id).map((e) => [e.id, e]));
    let at = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      let mine = next.id ? known.get(next.id) : at;
      if (mine && same(mine, next)) {
        if (mine === at) at = at.nextSibling; else old.insertBefore(mine, at);
        patch(mine, next);
      } else {
        old.insertBefore(next, at);
      }
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  };

  const shut = () => { source?.close(); source = null; };

  const open = () => {
    shut();
    if (paused || document.hidden) return;
    const address = new URL(location.href);
    address.hash = "";
    address.searchParams.set("format", "events");
    source = new EventSource(address);
    source.onmessage = (event) => {
      const fresh = new DOMParser().parseFromString(event.data, "text/html").querySelector("main");
      if (!fresh) return;
      patch(document.querySelector("main"), fresh);
      say("live", "live");
    };
    source.onerror = () => say("lost", source?.readyState === EventSource.CLOSED ? "not live: reload" : "connecting");
  };

  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    if (paused) { shut(); say("paused", "paused"); } else { say("", "connecting"); open(); }
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? shut() : open()));
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  reload.hidden = true;
  button.hidden = false;
  say("", "connecting");
  open();
})();
