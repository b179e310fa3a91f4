import { Outlet, useLocation } from '@tanstack/react-router';
import { PanelLeft } from 'lucide-react';
import { useEffect, useState } from 'react';
import { AskWatch } from '../features/asks/watch';
import { openPalette, Palette } from '../features/palette/palette';
import { openShortcuts, Shortcuts } from '../features/shortcuts/shortcuts';
import { watchList } from '../transport/watchlist';
import { Announcer } from '../ui/announcer';
import { IconButton } from '../ui/button';
import { Sheet } from '../ui/dialog';
import { Toasts } from '../ui/toast';
import { useWide } from '../ui/wide';
import { ConnectionBanner } from './banner';
import { Door } from './door';
import { cycleRegion } from './keys/regions';
import { useKeyboard, useKeys } from './keys/registry';
import { Sidebar } from './sidebar';

/** The frame of every page: the sidebar, the place for the page, and what is there once. */
export function Frame() {
  return (
    <Door>
      <Framed />
      <Announcer />
      <Toasts />
    </Door>
  );
}

function Framed() {
  useEffect(() => watchList(), []);
  useKeyboard();
  useKeys({
    'palette.open': openPalette,
    'shortcuts.open': openShortcuts,
    'region.next': () => cycleRegion(1),
    'region.previous': () => cycleRegion(-1),
  });
  const wide = useWide();
  return (
    <div className="flex h-full">
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-ink px-3 py-2 text-on-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the page
      </a>
      {wide && (
        <div className="w-[268px] shrink-0 border-r">
          <Sidebar />
        </div>
      )}
      <main id="main" className="flex min-w-0 flex-1 flex-col">
        <ConnectionBanner />
        <div className="relative flex min-h-0 flex-1 flex-col">
          {!wide && <Drawer />}
          <Outlet />
        </div>
      </main>
      <Palette />
      <Shortcuts />
      <AskWatch />
    </div>
  );
}

/** The sidebar of narrow screens. It closes when a person goes somewhere. */
function Drawer() {
  const { pathname } = useLocation();
  const [openAt, setOpenAt] = useState<string>();
  return (
    <>
      <IconButton
        label="Open navigation"
        onClick={() => setOpenAt(pathname)}
        className="absolute top-2 left-2 z-30"
      >
        <PanelLeft className="size-4" aria-hidden="true" />
      </IconButton>
      <Sheet
        side="left"
        title="Navigation"
        quietTitle
        open={openAt === pathname}
        onClose={() => setOpenAt(undefined)}
      >
        <Sidebar />
      </Sheet>
    </>
  );
}
