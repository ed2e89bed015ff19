// The page: unpacks the networks, collects what is drawn, shows what both read in it and how long that takes.
"use strict";

const element = (id) => document.getElementById(id);
const networks = ["int8", "float32"];
const fastest = { int8: Infinity, float32: Infinity };  // microseconds, of all measured so far

/** `archive` (archive.js) holds the program and the networks' files, deflated, 15 bits a character from U+1000 on. */
async function unpack({ files, bytes, text }) {
  const packed = new Uint8Array(bytes);
  for (let i = 0, at = 0, bits = 0, count = 0; i < text.length; ++i) {
    bits = (bits << 15) | (text.charCodeAt(i) - 0x1000);
    for (count += 15; count >= 8 && at < bytes; count -= 8) packed[at++] = bits >> (count - 8);
    bits &= (1 << count) - 1;
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const whole = await new Response(stream).arrayBuffer();
  let begin = 0;
  return Object.fromEntries(files.map(([name, size, planes]) => {
    const content = new Uint8Array(whole, begin, size);  // all bytes number 0 of `planes`, then all number 1, ...
    begin += size;
    return [name, Uint8Array.from(content, (_, i) => content[(i % planes) * (size / planes) + Math.floor(i / planes)])];
  }));
}

/** The C++ program: what digits_web.cpp exports. An error in it ends it, and is thrown with its own words. */
async function startProgram(code) {
  let memory, messages = "";
  const fd_write = (file, pieces, count, written) => {
    const view = new DataView(memory.buffer);
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const begin = view.getUint32(pieces + 8 * i, true), size = view.getUint32(pieces + 8 * i + 4, true);
      messages += new TextDecoder().decode(new Uint8Array(memory.buffer, begin, size));
      total += size;
    }
    view.setUint32(written, total, true);
    return 0;
  };
  const system = { fd_write, fd_close: () => 0, fd_seek: () => 0 };
  const { instance } = await WebAssembly.instantiate(code, { wasi_snapshot_preview1: system });
  memory = instance.exports.memory;
  const call = (name) => (...values) => {
    try {
      return instance.exports[name](...values);
    } catch (error) {
      throw new Error(messages || `${name}: ${error.message}`);
    }
  };
  call("_initialize")();
  const floats = (name, count) => (...values) => new Float32Array(memory.buffer, call(name)(...values), count);
  return {
    load(name, file) {
      const address = call("allocate")(file.length);
      new Uint8Array(memory.buffer, address, file.length).set(file);
      call(`load_${name}`)(address, file.length);
    },
    /** points: x, y, number of the stroke, x, y, ... The 64 pixels that the networks then read. */
    see(points) {
      const address = call("drawing")(points.length / 3);
      new Float32Array(memory.buffer, address, points.length).set(points);
      return floats("see", 64)();
    },
    /** Ten probabilities, computed as often as `times` says. */
    read: (name, times = 1) => floats(`read_${name}`, 10)(times),
  };
}

function showError(error) {
  element("error").textContent = `This does not work here: ${error?.message ?? error}`;
  element("error").hidden = false;
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const largest = (values) => values.indexOf(Math.max(...values));

/** Keeps the fewest microseconds of one reading: of seven batches, each long enough for a browser's clock. */
function measure(program, name) {
  let times = 1, best = Infinity;
  for (let batch = 0; batch < 7; ++batch) {
    const start = performance.now();
    program.read(name, times);
    const milliseconds = performance.now() - start;
    if (milliseconds < 6) {
      times *= 2;
      best = Infinity;
      batch = -1;  // begin again
    } else {
      best = Math.min(best, milliseconds / times);
    }
  }
  fastest[name] = Math.min(fastest[name], 1000 * best);
}

function makeRows() {
  const pixel = (i) => `<rect x="${i % 8}" y="${i >> 3}" width="1" height="1" opacity="0"/>`;
  element("seen").innerHTML = Array.from({ length: 64 }, (_, i) => pixel(i)).join("");
  const cells = '<td aria-hidden="true"><div class="bar int8"></div><div class="bar float32"></div></td>';
  const shares = '<td class="int8"></td><td class="float32"></td>';
  const row = (digit) => `<tr><th scope="row">${digit}</th>${cells}${shares}</tr>`;
  element("probabilities").innerHTML = Array.from({ length: 10 }, (_, digit) => row(digit)).join("");
}

/** Shows what is read in `points`, or nothing if there are none. */
function show(program, points) {
  const blank = points.length === 0;
  element("hint").toggleAttribute("hidden", !blank);
  element("spoken").textContent = "";
  const pixels = program.see(points);
  element("seen").childNodes.forEach((pixel, i) => pixel.setAttribute("opacity", pixels[i]));
  for (const name of networks) {
    const shares = blank ? Array(10).fill(0) : [...program.read(name)];
    const best = largest(shares);
    element(`${name}-digit`).textContent = blank ? "–" : best;
    element(`${name}-sure`).textContent = blank ? "\u00a0" : percent(shares[best]);
    [...element("probabilities").rows].forEach((row, digit) => {
      row.querySelector(`.bar.${name}`).style.transform = `scaleX(${shares[digit]})`;
      row.querySelector(`td.${name}`).textContent = blank ? "" : percent(shares[digit]);
      if (name === "int8") row.classList.toggle("best", !blank && digit === best);
    });
  }
}

/** Times both networks, and says to those who listen what they read. A time does not depend on what is drawn. */
function conclude(program) {
  for (const name of networks) {
    measure(program, name);
    element(`${name}-time`).textContent = `${Math.round(fastest[name])} µs`;
  }
  const text = (id) => element(id).textContent;
  const read = (name) => `${name} reads ${text(`${name}-digit`)}, ${text(`${name}-sure`)}`;
  element("spoken").textContent = networks.map(read).join("; ");
}

/** Calls changed(points) while something is drawn, and finished() when the pen is lifted. */
function listen(changed, finished) {
  const board = element("board"), ink = element("ink");
  let points = [], stroke = -1, line = null, pen = null;
  const add = (event) => {
    const box = board.getBoundingClientRect();
    const x = (280 * (event.clientX - box.left)) / box.width, y = (280 * (event.clientY - box.top)) / box.height;
    points.push(x, y, stroke);
    line.points.appendItem(Object.assign(board.createSVGPoint(), { x, y }));
  };
  const start = (event) => {
    if (pen !== null || event.button !== 0) return;
    board.setPointerCapture((pen = event.pointerId));
    line = ink.appendChild(document.createElementNS(board.namespaceURI, "polyline"));
    ++stroke;
    add(event);
    add(event);  // a touch alone leaves a dot
    changed(points);
  };
  const move = (event) => {
    if (event.pointerId !== pen) return;
    const passed = event.getCoalescedEvents?.() ?? [];  // all places since the last event, where the browser tells
    for (const place of passed.length > 0 ? passed : [event]) add(place);
    changed(points);
  };
  const lift = (event) => {
    if (event.pointerId !== pen) return;
    pen = null;
    finished();
  };
  const clear = () => {
    points = [];
    stroke = -1;
    pen = null;
    ink.replaceChildren();
    changed(points);
  };
  board.addEventListener("pointerdown", start);
  board.addEventListener("pointermove", move);
  board.addEventListener("pointerup", lift);
  board.addEventListener("pointercancel", lift);
  element("clear").addEventListener("click", clear);
  addEventListener("keydown", (event) => event.key === "Escape" && clear());
}

async function start() {
  addEventListener("error", (event) => showError(event.error ?? event.message));
  makeRows();
  const files = await unpack(archive);
  const program = await startProgram(files.program);
  for (const name of networks) {
    program.load(name, files[name]);
    element(`${name}-size`).textContent = `${Math.round(files[name].length / 1000)} kB`;
    measure(program, name);  // what it is asked for first, a browser compiles in haste
  }
  let drawn = null, waiting = 0;
  const changed = (points) => {
    if (drawn === null) requestAnimationFrame(() => { show(program, drawn); drawn = null; });
    drawn = points;
    clearTimeout(waiting);
  };
  const finished = () => { waiting = setTimeout(conclude, 150, program); };  // when the frame is drawn
  listen(changed, finished);
  document.documentElement.dataset.ready = "yes";
}

start().catch(showError);
