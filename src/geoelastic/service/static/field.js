// SPDX-License-Identifier: Apache-2.0
// A colour for each location, painted on the map: every pixel looks up its cell through the metric's own projection.

/* global L */

const MESH_PX = 16;
const STOPS = [[53, 42, 102], [47, 106, 142], [53, 160, 122], [184, 200, 60], [251, 226, 76]];

/** A colour between dark (0) and light (1), as the pixel value of an image. */
export function shade(part, alpha = 200) {
  const at = Math.min(Math.max(part, 0), 1) * (STOPS.length - 1);
  const k = Math.min(STOPS.length - 2, Math.floor(at));
  const [r, g, b] = STOPS[k].map((low, c) => Math.round(low + (STOPS[k + 1][c] - low) * (at - k)));
  return pixel(r, g, b, alpha);
}

export function pixel(r, g, b, alpha) {
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function makeField(order) {
  const Field = L.Layer.extend({
    onAdd(map) {
      this.canvas = L.DomUtil.create("canvas", "field", map.getPane("overlayPane"));
      this.canvas.style.zIndex = order;
      map.on("moveend viewreset resize", this.paint, this);
      this.paint();
    },
    onRemove(map) {
      map.off("moveend viewreset resize", this.paint, this);
      this.canvas.remove();
    },
    /** colours: one pixel value a location (0: nothing). */
    show(metric, colours) {
      Object.assign(this, { metric, colours });
      if (this.canvas) this.paint();
    },
    paint() {
      const map = this._map;
      const { x: width, y: height } = map.getSize();
      L.DomUtil.setPosition(this.canvas, map.containerPointToLayerPoint([0, 0]));
      this.canvas.width = width;
      this.canvas.height = height;
      if (!this.colours || width === 0 || height === 0) return;
      const context = this.canvas.getContext("2d");
      const image = context.createImageData(width, height);
      paintMesh(map, this.metric, this.colours, new Uint32Array(image.data.buffer), width, height);
      context.putImageData(image, 0, 0);
    },
  });
  return new Field();
}

/** Exact at the corners of a mesh of pixels, bilinear between: off by centimetres, thousands of times faster. */
function paintMesh(map, metric, colours, pixels, width, height) {
  const across = Math.ceil(width / MESH_PX) + 1;
  const corner = (i, j) => {
    const { lat, lng } = map.containerPointToLatLng([i * MESH_PX, j * MESH_PX]);
    const [x, y] = metric.projection.toXY(Math.max(-89.9, Math.min(89.9, lat)), lng);
    return [x / metric.cellM + metric.cols / 2, y / metric.cellM + metric.rows / 2];
  };
  let above = Array.from({ length: across }, (_, i) => corner(i, 0));
  for (let j = 0; j * MESH_PX < height; j++) {
    const below = Array.from({ length: across }, (_, i) => corner(i, j + 1));
    for (let i = 0; i + 1 < across; i++) paintBlock(metric, colours, pixels, width, height, i, j, above, below);
    above = below;
  }
}

function paintBlock(metric, colours, pixels, width, height, i, j, above, below) {
  const { rows, cols, owner } = metric;
  for (let dy = 0; dy < MESH_PX && j * MESH_PX + dy < height; dy++) {
    const t = (dy + 0.5) / MESH_PX;
    const left = [0, 1].map((k) => above[i][k] + t * (below[i][k] - above[i][k]));
    const right = [0, 1].map((k) => above[i + 1][k] + t * (below[i + 1][k] - above[i + 1][k]));
    for (let dx = 0; dx < MESH_PX && i * MESH_PX + dx < width; dx++) {
      const s = (dx + 0.5) / MESH_PX;
      const col = Math.floor(left[0] + s * (right[0] - left[0]));
      const row = Math.floor(left[1] + s * (right[1] - left[1]));
      if (row < 0 || col < 0 || row >= rows || col >= cols) continue;
      pixels[(j * MESH_PX + dy) * width + i * MESH_PX + dx] = colours[owner[row * cols + col]];
    }
  }
}
