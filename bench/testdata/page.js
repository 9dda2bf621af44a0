// What a page looks like to its reader, as one object: facts, and the problems that were found. page_look_test.go has the type.
(screenWidth) => {
  const problems = new Set();
  const root = document.documentElement;

  const name = (node) => {
    const text = node.textContent.trim().replace(/\s+/g, " ");
    return `"${text.length > 40 ? text.slice(0, 40) + "…" : text}"`;
  };
  const shown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const box = (e) => {
    const r = e.getBoundingClientRect();
    return { x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height };
  };

  // --- Colours: whatever CSS calls them, a canvas makes them red, green, blue and alpha.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255);
  };
  const over = (top, bottom) => [0, 1, 2].map((i) => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const sheet = () => { // what is behind everything: white, or what dark mode makes of it
    const e = document.createElement("i");
    e.style.color = "Canvas";
    root.append(e);
    const color = rgba(getComputedStyle(e).color);
    e.remove();
    return color;
  };
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none" || style.filter !== "none" || style.mixBlendMode !== "normal" || style.opacity !== "1") {
        problems.add(`contrast: cannot be told behind ${name(e)}: an image, a filter or opacity of <${at.localName}>`);
      }
      layers.push(rgba(style.backgroundColor));
    }
    return layers.reduceRight((below, layer) => over(layer, below), sheet());
  };

  // --- Text.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || !shown(e) || e.closest("script, style, svg defs")) {
      continue;
    }
    const style = getComputedStyle(e);
    const inPlot = e.closest("svg");
    const matrix = inPlot ? e.getScreenCTM() : { a: 1, b: 0 };
    const size = parseFloat(style.fontSize) * Math.hypot(matrix.a, matrix.b);
    if (size < 11.95) {
      problems.add(`small: ${name(node)} is ${size.toFixed(1)} px`);
    }
    if (!inPlot) { // the text of plots is looked at in a picture of them
      const ground = behind(e);
      const ratio = contrast(over(rgba(style.color), ground), ground);
      if (ratio < 4.5) {
        problems.add(`contrast: ${ratio.toFixed(2)} of ${name(node)}`);
      }
    }
  }

  // --- What is wide.
  if (root.scrollWidth > Math.min(innerWidth, screenWidth)) { // a phone zooms out of a page that is too wide: innerWidth grows
    problems.add(`sideways: the page is ${root.scrollWidth} px wide on a screen of ${screenWidth}`);
  }
  for (const e of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(e);
    if (!e.closest("svg") && /hidden|clip/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1 && shown(e)) {
      problems.add(`cut off: <${e.localName}> ${name(e)}`);
    }
  }

  // --- Plots.
  const within = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  const plots = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (!shown(svg)) { // drawn for another screen
      continue;
    }
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim());
    const rects = texts.map((t) => t.getBoundingClientRect());
    texts.forEach((t, i) => {
      if (!within(rects[i], frame)) {
        problems.add(`cut off: ${name(t)} of a plot`);
      }
      for (let at = svg.parentElement; at; at = at.parentElement) {
        const hides = /hidden|clip/.test(getComputedStyle(at).overflow);
        const scrolls = /auto|scroll/.test(getComputedStyle(at).overflowX); // but never to the left of where it begins
        const edge = at.getBoundingClientRect();
        if ((hides && !within(rects[i], edge)) || (scrolls && rects[i].left + at.scrollLeft < edge.left - 1)) {
          problems.add(`cut off: ${name(t)} of a plot, by <${at.localName}>`);
        }
      }
      for (let j = 0; j < i; j++) {
        const [a, b] = [rects[i], rects[j]];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > Math.min(a.height, b.height, a.width, b.width) / 2) { // lines of text may touch
          problems.add(`overlap: ${name(t)} and ${name(texts[j])} of a plot`);
        }
      }
    });
    plots.push({ box: box(svg), visible: box(svg.parentElement.closest(".wide") ?? svg), texts: texts.map((t) => ({ text: t.textContent, box: box(t) })) });
  }

  return {
    title: document.title,
    scripts: document.querySelectorAll("script, [onload], [onerror], [onclick]").length,
    headings: [...document.querySelectorAll("h1, h2")].filter(shown).map((e) => e.textContent),
    tables: [...document.querySelectorAll("table")].map((e) => ({ rows: e.rows.length, box: box(e) })),
    plots,
    whole: { x: 0, y: 0, width: screenWidth, height: root.scrollHeight },
    luminance: luminance(behind(document.body)),
    problems: [...problems],
  };
}
