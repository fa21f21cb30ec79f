"use strict";
// Puts the events and matches in view into the sources that Bokeh draws, and shows the values of what is clicked.
window.augury = (() => {
  const EVENTS_DRAWN = 4000;  // points that a browser redraws in one frame
  const LINKS_DRAWN = 1500;
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const element = (id) => document.getElementById(id);
  let model, time, events, matches, bound, eventCount, matchCount, bars, durations;
  let laneMode = 0, chosen = null, passes = null, matchPasses = null, refilling = false, waiting = false;

  // -- values as text

  const timeText = (ms) => {
    const whole = Math.floor(ms), micro = Math.round((ms - whole) * 1000);
    const text = new Date(whole).toISOString().replace("T", " ").replace("Z", "");
    return (micro ? text + String(micro).padStart(3, "0") : text.replace(/\.000$/, "")).replace(/ 00:00:00$/, "");
  };
  const valueText = (k, event) => {
    const column = facts.columns[k], value = events["value" + k][event];
    if (column.texts) return value < 0 ? "" : column.texts[value];
    return Number.isNaN(value) ? "" : column.time ? timeText(value) : String(value);
  };
  const axisText = (x) => facts.datetime ? timeText(x) : String(x);
  const durationText = (seconds) => {
    const units = [["days", 86400], ["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3], ["µs", 1e-6]];
    const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["s", 1];
    return +(seconds / size).toPrecision(4) + " " + unit;
  };

  // -- what is in view

  // Many events of a lane lie beside each other, always at the same place, so that one sees how many they are.
  const placeOf = (event) => {
    const spread = 0.55 * Math.min(1, eventCount / 2000);
    return events["lane" + laneMode][event] + spread * ((Math.imul(event, 2654435761) >>> 0) / 4294967296 - 0.5);
  };
  const firstAtOrAfter = (x) => {
    let low = 0, high = eventCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] < x) low = middle + 1; else high = middle;
    }
    return low;
  };
  // A power of two, so that what is left out stays left out while one pans.
  const stride = (count, room) => {
    let step = 1;
    while (count / step > room) step *= 2;
    return step;
  };
  const boundOf = (m) => [matches.offset[m], m + 1 < matchCount ? matches.offset[m + 1] : bound.event.length];

  const fill = () => {
    waiting = false;
    const range = model.lanes.x_range;
    const low = firstAtOrAfter(range.start), high = firstAtOrAfter(range.end + 1e-9);
    let inView = high - low;
    if (passes) {
      inView = 0;
      for (let i = low; i < high; i++) inView += passes[i];
    }
    const step = stride(inView, EVENTS_DRAWN), x = [], y = [], colour = [], event = [];
    for (let i = low, seen = 0; i < high; i++) {
      if (passes && !passes[i]) continue;
      if ((passes ? seen++ : i) % step) continue;
      x.push(time[i]); y.push(placeOf(i)); colour.push(facts.colours[events.type[i]]); event.push(i);
    }
    const matchesInView = [];
    for (let m = 0; m < matchCount; m++) {
      if (matches.end[m] >= range.start && matches.start[m] <= range.end && (!matchPasses || matchPasses[m])) matchesInView.push(m);
    }
    const every = stride(matchesInView.length, LINKS_DRAWN), xs = [], ys = [], match = [];
    const rings = {x: [], y: []};
    matchesInView.forEach((m, k) => {
      if (k % every) return;
      const [from, to] = boundOf(m), lineX = [], lineY = [];
      for (let b = from; b < to; b++) { lineX.push(time[bound.event[b]]); lineY.push(placeOf(bound.event[b])); }
      xs.push(lineX); ys.push(lineY); match.push(m);
      if (to - from === 1) { rings.x.push(lineX[0]); rings.y.push(lineY[0]); }
    });
    refilling = true;
    model.events.selected.indices = []; model.links.selected.indices = [];
    model.events.data = {x, y, colour, event};
    model.links.data = {xs, ys, match};
    model.rings.data = rings;
    refilling = false;
    model.linksDrawn.glyph.line_alpha = {value: Math.max(0.2, Math.min(0.7, 60 / match.length))};
    fillOverTime();
    model.densityShown(step > 1 && !passes);
    drawChosen();
    const n = (count) => count.toLocaleString("en");
    const part = (drawn, all, one, what) => drawn < all ? n(drawn) + " of " + n(all) + " " + what + " drawn" : n(all) + " " + (all === 1 ? one : what);
    const thinned = step > 1 || every > 1 ? "; zoom in to see all" : "";
    element("state").textContent =
      "In view: " + part(x.length, inView, "event", "events") + ", " + part(match.length, matchesInView.length, "match", "matches") + thinned +
      (passes ? " (filtered)" : "") + ". Scroll to zoom, drag to pan.";
  };
  const refresh = () => {
    if (!model || waiting) return;
    waiting = true;
    requestAnimationFrame(fill);
  };

  // -- the match that is looked at

  const drawChosen = () => {
    const data = {x: [], y: [], label: []};
    if (chosen !== null) {
      const [from, to] = boundOf(chosen);
      for (let b = from; b < to; b++) {
        data.x.push(time[bound.event[b]]); data.y.push(placeOf(bound.event[b]));
        data.label.push(facts.variables[bound.variable[b]]);
      }
    }
    model.chosen.data = data;
  };
  const tableOf = (title, colour, rows) => {
    const table = document.createElement("table"), caption = table.createCaption();
    if (colour) { const dot = document.createElement("i"); dot.style.background = colour; caption.append(dot); }
    caption.append(title);
    for (const [name, value] of rows) {
      const row = table.insertRow();
      row.insertCell().textContent = name; row.insertCell().textContent = value;
    }
    return table;
  };
  const eventTable = (event, variable) => {
    const rows = facts.columns.map((column, k) => [column.name, valueText(k, event)]).filter(([, value]) => value !== "");
    const type = events.type[event];
    return tableOf((variable === null ? "" : variable + ": ") + facts.types[type], facts.colours[type], rows);
  };
  const choose = (m) => {
    chosen = m;
    element("match-number").textContent = (m + 1).toLocaleString("en") + " of " + matchCount.toLocaleString("en");
    element("zoom").disabled = false;
    const about = [["start", axisText(matches.start[m])], ["end", axisText(matches.end[m])], ["duration", durationText(matches.duration[m])]];
    for (const {name, texts} of facts.values) about.push([name, texts[m]]);
    const [from, to] = boundOf(m), tables = [tableOf("", null, about)];
    for (let b = from; b < Math.min(to, from + 200); b++) tables.push(eventTable(bound.event[b], facts.variables[bound.variable[b]]));
    if (to > from + 200) tables.push(Object.assign(document.createElement("p"), {textContent: (to - from - 200) + " more events"}));
    element("details").replaceChildren(...tables);
    drawChosen();
    const range = model.lanes.x_range;
    if (matches.end[m] < range.start || matches.start[m] > range.end) centre(m, (range.end - range.start));
  };
  const centre = (m, width) => {
    const middle = (matches.start[m] + matches.end[m]) / 2;
    model.lanes.x_range.setv({start: middle - width / 2, end: middle + width / 2});
  };
  const step = (by) => {
    for (let k = 1; k <= matchCount; k++) {
      const m = ((chosen === null ? (by > 0 ? -1 : 0) : chosen) + by * k + 2 * matchCount) % matchCount;
      if (!matchPasses || matchPasses[m]) return choose(m);
    }
  };
  const tappedLink = (indices) => {
    if (!refilling && indices.length) choose(model.links.data.match[indices[0]]);
  };
  const tappedEvent = (indices) => {
    if (refilling || !indices.length) return;
    const event = model.events.data.event[indices[0]];
    // Clicking again goes to the next match of the event.
    const owners = [];
    for (let m = 0; m < matchCount; m++) {
      if (time[event] < matches.start[m] || time[event] > matches.end[m] || (matchPasses && !matchPasses[m])) continue;
      const [from, to] = boundOf(m);
      if (bound.event.subarray(from, to).includes(event)) owners.push(m);
    }
    if (owners.length) return choose(owners[(owners.indexOf(chosen) + 1) % owners.length]);
    chosen = null;
    element("match-number").textContent = "none chosen";
    element("zoom").disabled = true;
    const note = Object.assign(document.createElement("p"), {className: "note", textContent: "This event is in no match."});
    element("details").replaceChildren(eventTable(event, null), note);
    drawChosen();
  };
  const describe = (event) => facts.types[events.type[event]] + " at " + axisText(time[event]);

  // -- the filter

  const testOf = (text) => {
    const [, sign, wanted] = /^\s*(<=|>=|!=|<>|==|=|<|>)?\s*(.*?)\s*$/s.exec(text);
    const number = Number(wanted), isNumber = wanted !== "" && !Number.isNaN(number), lower = wanted.toLowerCase();
    const compare = (value, other) => value < other ? -1 : value > other ? 1 : 0;
    return (value) => {
      if (value === "") return false;
      if (!sign) return value.toLowerCase().includes(lower);
      const order = isNumber && !Number.isNaN(Number(value)) ? compare(Number(value), number) : compare(value, wanted);
      return {"=": order === 0, "==": order === 0, "!=": order !== 0, "<>": order !== 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign];
    };
  };
  const filter = () => {
    const text = element("filter-value").value, which = element("filter-column").value;
    if (text.trim() === "") {
      passes = matchPasses = null;
    } else {
      const test = testOf(text), looked = which === "" ? facts.columns.map((_, k) => k) : [Number(which)];
      passes = new Uint8Array(eventCount);
      for (const k of looked) {
        const texts = facts.columns[k].texts, values = events["value" + k];
        if (texts) {
          const good = texts.map(test);
          for (let i = 0; i < eventCount; i++) if (values[i] >= 0 && good[values[i]]) passes[i] = 1;
        } else {
          for (let i = 0; i < eventCount; i++) if (!passes[i] && test(valueText(k, i))) passes[i] = 1;
        }
      }
      matchPasses = new Uint8Array(matchCount);
      for (let m = 0; m < matchCount; m++) {
        const [from, to] = boundOf(m);
        for (let b = from; b < to && !matchPasses[m]; b++) matchPasses[m] = passes[bound.event[b]];
      }
      // A match that has a matching event is shown with all of its events.
      for (let m = 0; m < matchCount; m++) {
        if (!matchPasses[m]) continue;
        const [from, to] = boundOf(m);
        for (let b = from; b < to; b++) passes[bound.event[b]] |= 2;
      }
      for (let i = 0; i < eventCount; i++) passes[i] = passes[i] ? 1 : 0;
    }
    fillDurations();
    refresh();
  };

  // -- the plots beside

  const histogram = (values, low, width, count, plot, source) => {
    const counts = new Array(count).fill(0), left = [], right = [];
    for (let m = 0; m < matchCount; m++) {
      const bar = Math.floor((values(m) - low) / width);
      if (bar >= 0 && bar <= count && (!matchPasses || matchPasses[m])) counts[Math.min(bar, count - 1)]++;
    }
    for (let k = 0; k < count; k++) { left.push(low + width * (k + 0.06)); right.push(low + width * (k + 0.94)); }
    source.data = {left, right, top: counts};
    plot.y_range.end = Math.max(1, ...counts) * 1.08;
  };
  // Bars get narrower by halves as one zooms in, and keep their places while one pans.
  const fillOverTime = () => {
    const range = model.lanes.x_range, origin = facts.extent[0];
    let width = (facts.extent[1] - origin) / facts.bars;
    while (width * facts.bars > 2 * (range.end - range.start)) width /= 2;
    const first = Math.floor((range.start - origin) / width), count = Math.ceil((range.end - origin) / width) - first;
    histogram((m) => matches.end[m], origin + first * width, width, count, model.overTime, bars);
  };
  const fillDurations = () => {
    const inUnits = (m) => matches.duration[m] / facts.durationScale;
    let longest = 0;
    for (let m = 0; m < matchCount; m++) longest = Math.max(longest, inUnits(m));
    durations.x_range.end = longest || 1;
    histogram(inUnits, 0, (longest || 1) / facts.bars, facts.bars, durations, durations.document.get_model_by_name("durations_bars"));
  };

  // -- lanes, dark and light

  const setLanes = (mode) => {
    laneMode = mode;
    const labels = facts.lanes[mode].labels, axis = model.lanes.left[0];
    const PlainText = Bokeh.Models.get("PlainText");
    axis.ticker.ticks = labels.map((_, k) => k);
    axis.major_label_overrides = new Map(labels.map((label, k) => [k, new PlainText({text: label.length > 24 ? label.slice(0, 23) + "…" : label})]));
    model.density.data = {image: [model.densities.data.image[mode]], rows: [labels.length]};
    model.lanes.y_range.setv({start: labels.length - 0.4, end: -0.8});
    model.lanes.height = facts.heights[mode];
    refresh();
  };
  const paint = (theme) => {
    document.documentElement.dataset.theme = theme;
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
    for (const drawn of [model.linksDrawn, model.ringsDrawn]) drawn.glyph.line_color = {value: colour("--link")};
    model.overTime.title.text_color = colour("--soft");
    for (const plot of [model.lanes, model.overTime, durations]) {
      for (const axis of [...plot.left, ...plot.below]) axis.setv({major_label_text_color: colour("--soft"), axis_label_text_color: colour("--soft")});
      for (const grid of plot.center) if (grid.grid_line_color !== null) grid.grid_line_color = colour("--rule");
    }
  };

  const start = async () => {
    const prefersDark = matchMedia("(prefers-color-scheme: dark)");
    document.documentElement.dataset.theme = prefersDark.matches ? "dark" : "light";
    const item = (name) => JSON.parse(element("item-" + name).textContent);
    const root = async (name) => (await Bokeh.embed.embed_item(item(name))).roots[0].model;
    const main = await root("main");
    durations = await root("durations");
    const named = (name) => main.document.get_model_by_name(name);
    events = named("all_events").data; matches = named("all_matches").data; bound = named("all_bound").data;
    time = events.time; eventCount = time.length; matchCount = matches.start.length; bars = named("over_time_bars");
    const density = named("density"), lanes = named("lanes");
    const image = lanes.renderers.find((renderer) => renderer.data_source === density);
    model = {lanes, overTime: named("over_time"), events: named("events"), links: named("links"), chosen: named("chosen"),
      linksDrawn: named("links_drawn"), rings: named("rings"), ringsDrawn: named("rings_drawn"), density, densities: named("all_densities"), densityShown: (shown) => { image.visible = shown; }};
    facts.types.forEach((type, k) => {
      if (k >= 12) return;
      const entry = document.createElement("span"), dot = document.createElement("i");
      dot.style.background = facts.colours[k]; entry.append(dot, type); element("legend").append(entry);
    });
    facts.lanes.forEach((lanes, k) => element("lane-mode").add(new Option(lanes.title, k)));
    element("filter-column").add(new Option("any column", ""));
    facts.columns.forEach((column, k) => element("filter-column").add(new Option(column.name, k)));
    element("lane-mode").addEventListener("change", (e) => setLanes(Number(e.target.value)));
    element("filter-column").addEventListener("change", filter);
    let typing;
    element("filter-value").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, 120); });
    element("reset").addEventListener("click", () => lanes.x_range.setv({start: facts.extent[0], end: facts.extent[1]}));
    element("previous").addEventListener("click", () => step(-1));
    element("next").addEventListener("click", () => step(1));
    element("zoom").addEventListener("click", () => centre(chosen, (matches.end[chosen] - matches.start[chosen]) * 1.6 || (facts.extent[1] - facts.extent[0]) / 50));
    element("previous").disabled = element("next").disabled = matchCount === 0;
    element("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    prefersDark.addEventListener("change", (e) => paint(e.matches ? "dark" : "light"));
    document.addEventListener("keydown", (e) => {
      if (/INPUT|SELECT/.test(e.target.tagName)) return;
      if (e.key === "ArrowLeft") step(-1);
      if (e.key === "ArrowRight") step(1);
    });
    paint(document.documentElement.dataset.theme);
    fillDurations();
    fill();
    document.documentElement.dataset.ready = "yes";
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
  return {refresh, tappedLink, tappedEvent, describe};
})();
