import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { compressed } from './build/compressed.ts';
import { sized } from './build/sized.ts';
import { stamped } from './build/stamped.ts';

// The server that `make web` and the tests do not need: `RETINUE=http://127.0.0.1:7433 npm run dev`.
const server = process.env.RETINUE ?? 'http://127.0.0.1:7433';

export default defineConfig({
  plugins: [react(), tailwindcss(), compressed(), sized(), stamped()],
  build: {
    target: 'es2023',
    sourcemap: false,
    // The server's policy allows neither data: addresses nor scripts in the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        // What several parts share is loaded once, and counted once by sized.
        codeSplitting: { groups: [{ name: 'marked', test: /node_modules\/marked\// }] },
      },
    },
  },
  server: {
    port: 7434,
    strictPort: true,
    proxy: Object.fromEntries(
      ['/v1', '/login', '/logout'].map((path) => [
        path,
        // The server refuses requests from other origins, so the proxy speaks in its name.
        { target: server, changeOrigin: true, headers: { origin: server } },
      ]),
    ),
  },
  // Properties try hundreds of cases, on machines that may be busy.
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}', 'e2e/harness/*.test.ts'],
    setupFiles: ['src/patience.setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
