// @ts-check
import { defineConfig } from 'vite';

export default defineConfig({
  // JSX for React; your own project may use @vitejs/plugin-react instead, which also keeps state when a file changes.
  esbuild: { jsx: 'automatic' },
  server: { proxy: { '/channels': { target: `ws://127.0.0.1:${process.env.PORT ?? 3008}`, ws: true } } },
});
