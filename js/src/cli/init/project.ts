/** The files of a new project: a server, its worker and a page. Writes no file. */

/** What differs between projects. */
export interface ProjectPlan {
  /** The name of the package. */
  name: string;
  /** Its dependencies: names, and versions or paths. */
  dependencies: Readonly<Record<string, string>>;
  isTypeScript: boolean;
}

/** The contents of the files by their paths. */
export function projectFiles(plan: ProjectPlan): Record<string, string> {
  const source = plan.isTypeScript ? { 'src/server.ts': SERVER_TS, 'src/worker.ts': WORKER_TS } : JAVASCRIPT;
  return {
    'package.json': `${JSON.stringify(manifest(plan), undefined, 2)}\n`,
    ...(plan.isTypeScript && { 'tsconfig.json': TSCONFIG }),
    ...source,
    'public/index.html': PAGE,
    'README.md': readme(plan),
    '.gitignore': plan.isTypeScript ? 'dist/\nnode_modules/\n' : 'node_modules/\n',
  };
}

function manifest({ name, dependencies, isTypeScript }: ProjectPlan): object {
  const scripts = isTypeScript
    ? { build: 'tsc', start: 'tsc && node dist/server.js' }
    : { start: 'node server.js', dev: 'millrace serve worker.js --static public --watch' };
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts,
    dependencies,
    ...(isTypeScript && { devDependencies: { '@types/node': '^20.17.0', typescript: '^5.9.0 || ^6.0.0' } }),
  };
}

function readme({ name, isTypeScript }: ProjectPlan): string {
  const [folder, extension] = isTypeScript ? ['src/', 'ts'] : ['', 'js'];
  const others = isTypeScript
    ? 'After `npm run build`, `bun dist/server.js` and `deno run -A dist/server.js` do the same.'
    : '`bun server.js` and `deno run -A server.js` do the same.\n`npm run dev` starts it with new workers whenever a source changes.';
  return `# ${name}

A WebSocket server with Millrace, and a page for it.

\`\`\`sh
npm install
npm start
\`\`\`

Then open http://localhost:3000 in two tabs: a message from one appears in both. ${others}

| file | |
|---|---|
| \`${folder}server.${extension}\` | where it listens: \`PORT\` and \`HOST\` of the environment, \`localhost:3000\` without them |
| \`${folder}worker.${extension}\` | the handlers, which run in several threads |
| \`public/\` | the page, which native code serves |

\`GET /health\` and \`GET /ready\` are for health checks. Ctrl-C, or SIGTERM, lets it send what is queued and stop.
`;
}

const SERVER = (folder: string) => `import { fileURLToPath } from 'node:url';
import { start } from 'millrace';

const server = await start({
  bind: \`\${process.env.HOST ?? 'localhost'}:\${process.env.PORT ?? 3000}\`,
  workerPath: new URL('./worker.js', import.meta.url),
  static: fileURLToPath(new URL('${folder}public', import.meta.url)),
  origins: 'same-host',
  health: true,
  stopOnSignals: true,
});
console.log(\`Listening on http://\${server.addresses[0]}\`);
`;

const SERVER_TS = SERVER('../');

const WORKER_JS = `import { send, subscribe } from 'millrace';

export default {
  // called before a client is connected; the other handlers get the token that it returns
  handleOpen(socketId, ip, headers, request) {
    subscribe(socketId, 'everyone');
    return { token: { name: request.query.get('name') ?? 'guest' } };
  },

  handleTextMessage(text, socketId, user) {
    send('everyone', JSON.stringify({ from: user.name, text }));
  },
};
`;

const WORKER_TS = `import { defineWorker, send, subscribe } from 'millrace';

/** The token of a client. */
interface User {
  name: string;
}

export default defineWorker<{ data: User }>({
  // called before a client is connected; the other handlers get the token that it returns
  handleOpen(socketId, _ip, _headers, request) {
    subscribe(socketId, 'everyone');
    return { token: { name: request.query.get('name') ?? 'guest' } };
  },

  handleTextMessage(text, _socketId, user) {
    send('everyone', JSON.stringify({ from: user?.name, text }));
  },
});
`;

const JAVASCRIPT = { 'server.js': SERVER('./'), 'worker.js': WORKER_JS };

const TSCONFIG = `${JSON.stringify(
  {
    compilerOptions: {
      target: 'es2022',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      rootDir: 'src',
      outDir: 'dist',
    },
    include: ['src'],
  },
  undefined,
  2,
)}\n`;

const PAGE = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>Everyone</title>
  <form>
    <input name="text" autofocus autocomplete="off" placeholder="Say something" />
    <button>Send</button>
  </form>
  <ul></ul>
  <script type="module">
    const name = \`guest \${Math.floor(Math.random() * 1000)}\`;
    const form = document.querySelector('form');
    let socket;

    function connect() {
      const url = new URL('/', location.href.replace(/^http/, 'ws'));
      url.searchParams.set('name', name);
      socket = new WebSocket(url);
      socket.onmessage = ({ data }) => {
        const { from, text } = JSON.parse(data);
        const line = document.createElement('li');
        line.textContent = \`\${from}: \${text}\`;
        document.querySelector('ul').append(line);
      };
      // the server may be restarting: connect again after a random delay, so that not all clients come at once, or when
      // the server says
      socket.onclose = ({ reason }) => {
        const [, asked] = /^retry=(\\d{1,9})$/.exec(reason) ?? [];
        setTimeout(connect, Number(asked ?? 500 + Math.random() * 1000));
      };
    }

    connect();
    form.onsubmit = (event) => {
      event.preventDefault();
      socket.send(form.elements.text.value);
      form.reset();
    };
  </script>
</html>
`;
