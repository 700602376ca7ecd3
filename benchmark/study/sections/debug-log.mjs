// Measures the cost of the log level "debug", with which the original was measured: every message is written to a file.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { complaints, measure } from '../measure.mjs';
import { show, table } from '../tables.mjs';
import { withWorkers, ws, wsCluster } from '../variants.mjs';

export const name = 'debug-log';
export const title = 'Log level debug';

export async function run(context) {
  const load = { connections: 500, requests: context.options.quick ? 5_000 : 50_000 };
  const variants = [...withWorkers, ws, wsCluster];
  const folder = mkdtempSync(join(tmpdir(), 'millrace-study-'));
  const data = [];
  try {
    for (const level of ['info', 'debug']) {
      const serverArgs = level === 'debug' ? [`--log=${join(folder, 'debug.log')}`] : [];
      const found = await measure(context, `log level ${level}`, variants, load, { serverArgs });
      data.push(...found.map((one) => ({ ...one, level })));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const rows = data
    .filter(({ level }) => level === 'info')
    .map((info) => {
      const debug = data.find(({ name, level }) => name === info.name && level === 'debug');
      const both = (field, unit) => [show(info.median[field], unit), show(debug?.median[field], unit)];
      return [info.title, ...both('per_second'), ...both('p99_us', 1000), ...both('cpu_us')];
    });
  return {
    lines: [
      `${load.connections} connections, ${load.requests.toLocaleString('en')} requests, one in flight. At "debug" each ` +
        'message is appended to a file by the handler; everything else in this study runs at "info".',
      '',
      ...table(
        ['server', 'requests/s info', 'debug', 'p99 ms info', 'debug', 'CPU µs per request info', 'debug'],
        rows,
      ),
    ],
    data,
    problems: complaints('log level', data),
  };
}
