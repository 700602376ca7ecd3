// Draws bar and line charts as SVG text, without dependencies or scripts. They carry their own background and follow
// the reader's light or dark scheme; every value is written out. It has nothing to do with scenarios or peers.

const WIDTH = 760;
const FONT = '13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
/** Line and bar colours: distinguishable in both schemes and with common colour blindness. */
const LIGHT = ['#0969da', '#bc4c00', '#1a7f37', '#8250df', '#9a6700', '#cf222e', '#1b7c83', '#57606a'];
const DARK = ['#58a6ff', '#f0883e', '#3fb950', '#bc8cff', '#d29922', '#ff7b72', '#39c5cf', '#8b949e'];

const STYLE = `
text { font: ${FONT}; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.muted { fill: #59636e; font-size: 12px; }
.strong { font-weight: 600; }
.paper { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.bar { fill: #8c959f; }
.bar.strong { fill: #0969da; }
.line { fill: none; stroke-width: 2; }
.range { stroke: #8c959f; stroke-width: 2; }
${LIGHT.map((colour, i) => `.s${i} { stroke: ${colour}; } .f${i} { fill: ${colour}; }`).join('\n')}
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.muted { fill: #9198a1; }
.paper { fill: #0d1117; stroke: #3d444d; }
.grid { stroke: #30363d; }
.bar { fill: #6e7681; }
.range { stroke: #6e7681; }
.bar.strong { fill: #4493f8; }
${DARK.map((colour, i) => `.s${i} { stroke: ${colour}; } .f${i} { fill: ${colour}; }`).join('\n')}
}`;

/**
 * Horizontal bars, one for each of `bars`: `{ label, value, note?, strong? }`. A bar without a value shows only its
 * note. `subtitle` says what is measured and which direction is better.
 */
export function barChart({ title, subtitle, bars }) {
  const labels = Math.min(220, 16 + 7.5 * Math.max(...bars.map(({ label }) => label.length)));
  const left = 20 + labels;
  const room = WIDTH - left - 150;
  const largest = Math.max(...bars.map(({ value }) => value ?? 0), Number.MIN_VALUE);
  const rows = bars.map(({ label, value, note, strong }, i) => {
    const y = 72 + i * 26;
    const length = value === undefined ? 0 : Math.max(1, (value / largest) * room);
    const kind = strong ? ' strong' : '';
    const words = [value === undefined ? '' : number(value), note ?? ''].filter(Boolean).join(' ');
    return [
      text(left - 8, y + 14, label, `${kind.trim()}`, 'end'),
      length > 0 ? `<rect class="bar${kind}" x="${left}" y="${y}" width="${fixed(length)}" height="18" rx="2"/>` : '',
      text(left + length + 6, y + 14, words, kind.trim()),
    ].join('');
  });
  return picture(72 + bars.length * 26 + 14, title, [heading(title, subtitle), ...rows]);
}

/**
 * Dots in rows: for each of `rows` (`{ label, values, note?, strong? }`) one dot per name in `series`, on a logarithmic
 * axis, so that figures of very different sizes are readable.
 */
export function dotChart({ title, subtitle, series, rows }) {
  const [left, right, top] = [150, WIDTH - 190, 92];
  const scale = logarithmic(
    rows.flatMap(({ values }) => values),
    left + 10,
    right,
  );
  const bottom = top + rows.length * 28;
  const drawn = rows.map(({ label, values, note, strong }, i) => {
    const y = top + i * 28 + 14;
    const places = values.map((value) => (value > 0 ? scale.at(value) : undefined));
    const known = places.filter((place) => place !== undefined);
    const [from, to] = known.length ? [Math.min(...known), Math.max(...known)] : [left, left];
    const words = [
      values
        .filter((value) => value > 0)
        .map(number)
        .join(' · '),
      note ?? '',
    ]
      .filter(Boolean)
      .join(' ');
    return [
      text(left - 8, y + 4, label, strong ? 'strong' : '', 'end'),
      `<line class="range" x1="${fixed(from)}" y1="${y}" x2="${fixed(to)}" y2="${y}"/>`,
      ...places.map((x, s) => (x === undefined ? '' : `<circle class="f${s}" cx="${fixed(x)}" cy="${y}" r="5"/>`)),
      text(right + 14, y + 4, words, strong ? 'strong' : ''),
    ].join('');
  });
  const ticks = scale.ticks.map((tick) => vertical(scale.at(tick), top, bottom, number(tick)));
  return picture(bottom + 28, title, [heading(title, subtitle), legend(series), ...ticks, ...drawn]);
}

/**
 * Lines: `series` of `{ name, points: [[x, y], …] }`, drawn in their order. `logX` and `logY` make an
 * axis logarithmic; zeroes are left out of such an axis. `marks` are vertical lines `{ x, label }`.
 */
export function lineChart({ title, subtitle, xLabel, yLabel, series, logX = false, logY = false, marks = [] }) {
  const [left, right, top, bottom] = [76, WIDTH - 150, 96, 420];
  const fits = ([x, y]) => Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0);
  const lines = series.map(({ name, points }) => ({ name, points: points.filter(fits) }));
  const all = lines.flatMap(({ points }) => points);
  const axis = (log) => (log ? logarithmic : linear);
  const x = axis(logX)([...all.map(([value]) => value), ...marks.map((mark) => mark.x)], left, right);
  const y = axis(logY)(
    all.map(([, value]) => value),
    bottom,
    top,
  );
  const grid = [
    ...x.ticks.map((tick) => vertical(x.at(tick), top, bottom, number(tick))),
    ...y.ticks.map((tick) => horizontal(y.at(tick), left, right, number(tick))),
    ...marks.map(
      ({ x: at, label }) => vertical(x.at(at), top - 4, bottom, '') + text(x.at(at) + 4, top + 8, label, 'muted'),
    ),
  ];
  const ends = apart(lines.map(({ points }) => (points.length ? y.at(points.at(-1)[1]) : bottom)));
  const drawn = lines.map(({ name, points }, i) => {
    const colour = i % LIGHT.length;
    const dash = i >= LIGHT.length ? ' stroke-dasharray="5 3"' : '';
    const path = points.map(([px, py]) => `${fixed(x.at(px))},${fixed(y.at(py))}`).join(' ');
    const dots = points.map(
      ([px, py]) => `<circle class="f${colour}" cx="${fixed(x.at(px))}" cy="${fixed(y.at(py))}" r="3"/>`,
    );
    const end = points.length ? x.at(points.at(-1)[0]) : right;
    const label = `<text class="f${colour} strong" x="${fixed(end + 8)}" y="${fixed(ends[i] + 4)}">${escaped(name)}</text>`;
    return `<polyline class="line s${colour}" points="${path}"${dash}/>${dots.join('')}${label}`;
  });
  const words = [text((left + right) / 2, bottom + 40, xLabel, 'muted', 'middle'), text(20, top - 16, yLabel, 'muted')];
  return picture(bottom + 58, title, [heading(title, subtitle), ...grid, ...drawn, ...words]);
}

function picture(height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    `<rect class="paper" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function heading(title, subtitle) {
  return text(20, 30, title, 'title') + text(20, 50, subtitle, 'muted');
}

function legend(series) {
  let x = 20;
  const entries = series.map((name, i) => {
    const at = x;
    x += 26 + name.length * 7.5;
    return `<rect class="f${i}" x="${fixed(at)}" y="62" width="10" height="10" rx="2"/>${text(at + 14, 71, name, 'muted')}`;
  });
  return entries.join('');
}

function vertical(x, top, bottom, label) {
  const line = `<line class="grid" x1="${fixed(x)}" y1="${top}" x2="${fixed(x)}" y2="${bottom}"/>`;
  return line + text(x, bottom + 17, label, 'muted', 'middle');
}

function horizontal(y, left, right, label) {
  const line = `<line class="grid" x1="${left}" y1="${fixed(y)}" x2="${right}" y2="${fixed(y)}"/>`;
  return line + text(left - 8, y + 4, label, 'muted', 'end');
}

/** A linear axis from zero, with round ticks. */
function linear(values, from, to) {
  const largest = Math.max(...values, Number.MIN_VALUE);
  const rough = largest / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const count = Math.ceil(largest / step - 1e-9);
  const ticks = Array.from({ length: count + 1 }, (_, i) => i * step);
  return { ticks, at: (value) => from + (value / (count * step)) * (to - from) };
}

/** A logarithmic axis between powers of ten, or twos and fives of them where few powers fit. */
function logarithmic(values, from, to) {
  const positive = values.filter((value) => value > 0);
  const steps = [1, 2, 5];
  const [smallest, largest] = positive.length ? [Math.min(...positive), Math.max(...positive)] : [1, 10];
  const candidates = [];
  for (let power = Math.floor(Math.log10(smallest)); power <= Math.ceil(Math.log10(largest)); power++) {
    candidates.push(...steps.map((step) => step * 10 ** power));
  }
  const start = candidates.filter((value) => value <= smallest).at(-1);
  const end = candidates.find((value) => value >= largest && value > start) ?? start * 10;
  const inside = candidates.filter((value) => value >= start && value <= end);
  const powers = inside.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9);
  const ticks = inside.length <= 8 ? inside : powers;
  const at = (value) => from + (Math.log(value / start) / Math.log(end / start)) * (to - from);
  return { ticks, at };
}

/** Moves labels apart vertically so that they do not overlap. */
function apart(heights) {
  const order = heights.map((height, i) => ({ height, i })).sort((a, b) => a.height - b.height);
  let last = Number.NEGATIVE_INFINITY;
  const moved = [];
  for (const { height, i } of order) {
    last = Math.max(height, last + 16);
    moved[i] = last;
  }
  return moved;
}

function text(x, y, words, kind = '', anchor = 'start') {
  if (!words) return '';
  return `<text class="${kind}" x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

/** Three digits, thousands apart. */
export function number(value) {
  if (value === 0) return '0';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

function fixed(value) {
  return String(Math.round(value * 10) / 10);
}

function escaped(words) {
  return String(words).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
}
