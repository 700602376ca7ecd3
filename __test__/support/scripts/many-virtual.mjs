// Creates `count` virtual sockets of one socket.
export default function manyVirtual(millrace, socketId, count) {
  for (let index = 0; index < count; index++) millrace.createVirtualSocket(socketId);
}
