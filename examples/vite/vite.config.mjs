// @ts-check
import { defineConfig } from 'vite';

export default defineConfig({
  server: {
    // During development, Vite serves the page and forwards its sockets. `Host` stays that of the page (no
    // `changeOrigin`), so that `origins: 'same-host'` accepts it.
    proxy: { '/channels': { target: `ws://127.0.0.1:${process.env.PORT ?? 3007}`, ws: true } },
  },
});
