// What a person would see go wrong on a page, in words; an empty list when nothing does.
(() => {
  const wrong = [];
  const name = (element) => `${element.tagName.toLowerCase()} "${element.textContent.trim().slice(0, 40)}"`;
  const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const channel = (value) => (value /= 255, value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => {
    const [red, green, blue] = parts(color).map(channel);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((parts(color)[3] ?? 1) > 0.5) return color;
    }
    return "rgb(255, 255, 255)";
  };

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const element of document.body.querySelectorAll("*")) {
    if (!shown(element)) continue;
    const box = element.getBoundingClientRect();
    const scrolls = element.closest(".wide");
    if (!scrolls && (box.right > width + 0.5 || box.left < -0.5)) wrong.push(`${name(element)} leaves the page`);
    const style = getComputedStyle(element);
    const tells = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!tells || element.tagName === "title") continue;
    const inSvg = element instanceof SVGElement;
    const size = inSvg ? box.height / 1.2 : parseFloat(style.fontSize);
    if (size < 10.5) wrong.push(`${name(element)} is ${size.toFixed(1)} pixels high`);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 600);
    const ratio = contrast(inSvg ? style.fill : style.color, ground(element));
    if (ratio < (isLarge ? 3 : 4.5)) wrong.push(`${name(element)} has a contrast of ${ratio.toFixed(2)}`);
  }

  const charts = [...document.querySelectorAll("svg.chart")].filter(shown);
  for (const chart of charts) {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")];
    for (const element of chart.querySelectorAll("text, rect, circle, line, polyline")) {
      const box = element.getBoundingClientRect();
      const inside = box.left >= frame.left - 1 && box.right <= frame.right + 1
        && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
      if (!inside) wrong.push(`${name(element)} leaves its chart`);
    }
    for (const mark of chart.querySelectorAll(".bar, .dot")) {
      const ratio = contrast(getComputedStyle(mark).fill, ground(chart));
      if (ratio < 3) wrong.push(`a mark has a contrast of ${ratio.toFixed(2)}`);
    }
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other, next) => {
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > 1 && down > 4) wrong.push(`${name(texts[at])} lies on ${name(texts[at + 1 + next])}`);
    }));
  }
  return {wrong, charts: charts.length, ground: light(getComputedStyle(document.body).backgroundColor)};
})()
