// Sends `[target, length, options]` of each of `list` in one turn of the event loop, as text that compresses well and
// begins with its index, counted from `first`; then closes the socket `closing`, if there is one. Returns the numbers of
// deliveries.
import { patterned } from '../patterned.mjs';

export default function sendAll(millrace, list, { closing, first = 0 } = {}) {
  const sent = list.map(([target, length, options], index) =>
    millrace.send(target, patterned(first + index, length), options),
  );
  if (closing !== undefined) millrace.close(closing, 4000, 'enough');
  return sent;
}
