// Sends numbered messages to a channel, all in one turn of the event loop.
export default function sendMany(millrace, channel, count) {
  for (let number = 0; number < count; number++) millrace.send(channel, `0a ${number}`);
}
