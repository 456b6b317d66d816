"use strict";
(async () => {
  const byId = id => document.getElementById(id).textContent;
  const figures = [...document.querySelectorAll("figure")].filter(one => one.querySelector(".plots"));
  if (!figures.length || !window.DecompressionStream || !window.IntersectionObserver) return;

  // Unpack the library, and let it run: the page's policy knows its digest.
  const packed = Uint8Array.from(atob(byId("library").trim()), letter => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
  const Plotly = window.Plotly;
  if (!Plotly) return;

  // Colours of drawings are names of those of the page, which differ in the dark.
  const names = JSON.parse(byId("palette"));
  const brush = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const palette = place => Object.fromEntries(Object.entries(names).map(([name, value]) => {
    const probe = document.createElement("span");
    probe.style.color = value;
    place.append(probe);
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    brush.fillRect(0, 0, 1, 1);
    const [red, green, blue, opacity] = brush.getImageData(0, 0, 1, 1).data;
    return [name, `rgba(${red},${green},${blue},${opacity / 255})`];
  }));
  const colored = (text, colors) => JSON.parse(text, (key, value) =>
    /color$/.test(key) && Object.hasOwn(colors, value) ? colors[value] : value);

  // On a touch screen, a finger scrolls the page.
  const coarse = matchMedia("(pointer: coarse)").matches;
  const settings = {displayModeBar: false, doubleClick: "reset", responsive: true};
  const draw = async figure => {
    const live = figure.querySelector(".live");
    const places = live.querySelector(".panels");
    live.hidden = false;
    const panels = colored(figure.querySelector(".plots").textContent, palette(figure));
    for (const [number, panel] of panels.entries()) {
      const place = places.children[number] || places.appendChild(document.createElement("div"));
      if (!place.firstChild) {
        place.append(document.createElement("p"), document.createElement("div"));
        place.firstChild.textContent = panel.title;
        place.firstChild.hidden = !panel.title;
      }
      panel.layout.dragmode = coarse ? false : "zoom";
      panel.layout.font.family = getComputedStyle(figure).fontFamily;
      await Plotly.react(place.lastChild, panel.data, panel.layout, settings);
    }
    figure.classList.add("is-live");
  };
  // What cannot be drawn stays as it is.
  const tried = figure => draw(figure).catch(() => { figure.querySelector(".live").hidden = true; });

  const drawn = new Set();
  const watch = new IntersectionObserver(seen => seen.filter(one => one.isIntersecting)
    .forEach(({target}) => { watch.unobserve(target); drawn.add(target); tried(target); }),
  {rootMargin: "400px"});
  figures.forEach(one => watch.observe(one));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(tried));
})();
