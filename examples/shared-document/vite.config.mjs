// @ts-check
import { defineConfig } from 'vite';

export default defineConfig({
  server: { proxy: { '/channels': { target: `ws://127.0.0.1:${process.env.PORT ?? 3018}`, ws: true } } },
});
