// How a client names channels in the scenario with many of them.

/** The channels that `s<first>,<step>,<count>` asks for: so many, so far apart. */
export function channelNames(text) {
  const [first, step, count] = text.slice(1).split(',').map(Number);
  return Array.from({ length: count }, (_, index) => `c${String(first + index * step).padStart(5, '0')}`);
}

/** The channel of a publication to one of many: it follows the time stamp. */
export function channelOf(text) {
  return text.slice(17, 23);
}
