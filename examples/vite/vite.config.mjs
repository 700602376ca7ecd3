// @ts-check
import { defineConfig } from 'vite';

export default defineConfig({
  server: {
    // While you develop, Vite has the page and hands its sockets on. `Host` stays that of the page (no `changeOrigin`), so that
    // `origins: 'same-host'` holds.
    proxy: { '/channels': { target: `ws://127.0.0.1:${process.env.PORT ?? 3007}`, ws: true } },
  },
});
