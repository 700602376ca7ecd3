// Sends messages to a socket, each when the outbox has room: how many were sent, and the most bytes that waited.
export default async function (millrace, socketId, { count, size }) {
  let most = 0;
  let sent = 0;
  while (sent < count && (await millrace.drained(socketId))) {
    sent += millrace.send(socketId, Buffer.alloc(size));
    most = Math.max(most, millrace.outboxBytes(socketId));
  }
  return { most, sent };
}
