// Tasks over HTTP/1 with Node's default agent: each ends with the end of the response.
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { request } from 'node:http';

export async function open({ port, row, file }) {
  const content = row.contents && row.from !== 'fs' ? randomBytes(row.bytes) : undefined;
  const send = (path) =>
    new Promise((resolve, reject) => {
      const headers = path === '/read' ? { 'content-length': row.bytes } : {};
      const method = path === '/read' ? 'POST' : 'GET';
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`wrong answer: ${response.statusCode}`));
        });
      });
      sent.once('error', reject);
      if (path === '/read' && row.from === 'fs') createReadStream(file).once('error', reject).pipe(sent);
      else sent.end(path === '/read' ? content : undefined);
    });
  const path = row.contents ? '/read' : `/${row.name}`;
  return {
    counted: 'messages',
    task: () => send(path),
    count: async () => [JSON.parse(await send('/count'))],
    close() {},
  };
}
