// @ts-check
import vue from '@vitejs/plugin-vue';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [vue()],
  server: { proxy: { '/channels': { target: `ws://127.0.0.1:${process.env.PORT ?? 3009}`, ws: true } } },
});
