// Peer: nginx as it is installed, one process, the file's descriptor kept open. This program starts it, so
// that it has its own port; the kernel ends it when this process ends.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { option, ready } from '../peer.mjs';
import { publicFolder } from './content.mjs';

const folder = mkdtempSync(join(tmpdir(), 'millrace-nginx-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const port = await freePort();
const temporary = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'].map((name) => `${name}_temp_path ${name};`);
writeFileSync(
  join(folder, 'nginx.conf'),
  `daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  types { text/plain txt; }
  sendfile on;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  open_file_cache max=100 inactive=1h;
  open_file_cache_valid 1s;
  ${temporary.join('\n  ')}
  server { listen 127.0.0.1:${port} backlog=4096; root ${JSON.stringify(publicFolder)}; }
}
`,
);
const command = [option('nginx'), '-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')];
const nginx = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: ['ignore', 'ignore', 'inherit'] });
nginx.once('exit', (code) => process.exit(code ?? 0));
process.once('SIGTERM', () => nginx.kill('SIGKILL'));
while (!(await answers())) await setTimeout(20);
ready(port, nginx.pid);

/** A port that was free a moment ago: nginx cannot choose one itself. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function answers() {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => socket.end() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}
