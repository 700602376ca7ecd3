// Subscribes one socket to `count` channels.
export default function manyChannels(millrace, socketId, count) {
  for (let index = 0; index < count; index++) millrace.subscribe(socketId, `channel ${index}`);
}
