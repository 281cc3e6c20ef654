// SPDX-License-Identifier: Apache-2.0
// Water, coast, main roads and names, drawn quietly over the colours: what a person knows a place by, from the map itself.

/* global L */

const SIZES = [15, 13, 12, 11];
const MOST_NAMES = 40;
const LINES = [["street", 0.7, 0.4], ["road", 1.5, 0.65], ["river", 1.2, 0.9], ["coast", 1, 0.9]];

/** Lines and names in degrees, ready to be drawn on any map: { lines: { kind: [[lat, lng], ...] }, names }. */
export function placeContext({ lines, names }, { projection }) {
  const placed = (line) => Array.from({ length: line.length / 2 }, (_, k) => L.latLng(projection.toLatLon(line[2 * k], line[2 * k + 1])));
  return {
    lines: Object.fromEntries(Object.entries(lines).map(([kind, many]) => [kind, many.map(placed)])),
    names: names.map(([x, y, rank, text]) => ({ at: L.latLng(projection.toLatLon(x, y)), rank, text })),
  };
}

export function makeContext(order) {
  const Context = L.Layer.extend({
    onAdd(map) {
      this.canvas = L.DomUtil.create("canvas", "context", map.getPane("overlayPane"));
      this.canvas.style.zIndex = order;
      map.on("moveend viewreset resize", this.paint, this);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
      this.paint();
    },
    /** placed: what `placeContext` made, or null; over: whether there are strong colours beneath. */
    show(placed, over) {
      Object.assign(this, { placed, over });
      if (this.canvas) this.paint();
    },
    paint() {
      const map = this._map;
      const { x: width, y: height } = map.getSize();
      const dense = window.devicePixelRatio || 1;
      L.DomUtil.setPosition(this.canvas, map.containerPointToLayerPoint([0, 0]));
      Object.assign(this.canvas, { width: width * dense, height: height * dense });
      Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
      this.canvas.dataset.names = 0;
      if (!this.placed || width === 0 || height === 0) return;
      const pen = this.canvas.getContext("2d");
      pen.scale(dense, dense);
      const colour = (name) => getComputedStyle(map.getContainer()).getPropertyValue(name);
      drawLines(pen, map, this.placed.lines, { water: colour("--water"), road: this.over ? "#ffffff" : colour("--soft") });
      this.canvas.dataset.names = drawNames(pen, map, this.placed.names, { ink: colour("--ink"), halo: colour("--card") });
    },
  });
  return new Context();
}

function trace(pen, map, line) {
  line.forEach((corner, k) => {
    const { x, y } = map.latLngToContainerPoint(corner);
    k === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y);
  });
}

function drawLines(pen, map, lines, { water, road }) {
  pen.beginPath();
  for (const ring of lines.water ?? []) {
    trace(pen, map, ring);
    pen.closePath();
  }
  Object.assign(pen, { fillStyle: water, globalAlpha: 0.42, lineJoin: "round" });
  pen.fill("evenodd");
  for (const [kind, wide, alpha] of LINES) {
    pen.beginPath();
    for (const line of lines[kind] ?? []) trace(pen, map, line);
    Object.assign(pen, { strokeStyle: kind === "river" || kind === "coast" ? water : road, lineWidth: wide, globalAlpha: alpha });
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** The best known first; a name that would lie on another or over the edge is left out. Returns how many there are. */
function drawNames(pen, map, names, { ink, halo }) {
  const taken = [];
  const { x: width, y: height } = map.getSize();
  Object.assign(pen, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 3, strokeStyle: halo, fillStyle: ink });
  for (const { at, rank, text } of names) {
    pen.font = `${rank === 0 ? "600 " : ""}${SIZES[rank]}px system-ui, sans-serif`;
    const { x, y } = map.latLngToContainerPoint(at);
    const [w, h] = [pen.measureText(text).width / 2 + 4, SIZES[rank] * 0.8];
    const free = taken.every((other) => Math.abs(other.x - x) >= other.w + w || Math.abs(other.y - y) >= other.h + h);
    if (taken.length >= MOST_NAMES || !free || x < w || y < h || x > width - w || y > height - h) continue;
    taken.push({ x, y, w, h });
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  }
  return taken.length;
}
