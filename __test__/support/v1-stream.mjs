// Streams of Server-Sent Events that speak millrace.v1, and the POSTs of their clients.
import { randomBytes } from 'node:crypto';

/** One event; its data may have several lines. */
const event = (data, type) => `${type ? `event: ${type}\n` : ''}${data.replace(/^/gm, 'data: ')}\n\n`;

export const V1Stream = {
  /** How a session writes to a response. */
  carry(session, response) {
    session.key = randomBytes(16).toString('hex');
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.on('close', () => session.ended());
    return {
      write: (message) => {
        const text = message.toString();
        const at = text.indexOf('\n');
        const header = JSON.parse(at < 0 ? text : text.slice(0, at));
        if (header.t === 'hi') header.k = session.key;
        const bytes = typeof message !== 'string';
        const payload = bytes ? message.subarray(message.indexOf(10) + 1) : text.slice(at + 1);
        if (bytes || (at >= 0 && payload.includes('\r'))) {
          header.b = bytes ? 1 : 2;
          response.write(event(`${JSON.stringify(header)}\n${Buffer.from(payload).toString('base64')}`));
        } else {
          response.write(
            `: alive\n\n${event(at < 0 ? JSON.stringify(header) : `${JSON.stringify(header)}\n${payload}`)}`,
          );
        }
      },
      close: (code, reason) => {
        response.end(event(`${code} ${reason}`.trim(), 'close'));
        session.ended();
      },
      cut: () => response.destroy(),
      mute: () => {},
    };
  },

  /** Takes one message. */
  async post(server, request, response) {
    const [id, key] = (request.headers['millrace-socket'] ?? '').split('.');
    const session = server.sessions.find((one) => !one.over && one.id === id && one.key === key);
    const parts = await request.toArray();
    if (server.deaf) return;
    response.writeHead(session ? 204 : 404).end();
    session?.receive(Buffer.concat(parts), request.headers['content-type'] === 'application/octet-stream');
  },
};
