import { lazy, Suspense } from 'react';
import { layer } from '../../ui/layer';

const palette = layer();
const Window = lazy(() => import('./window').then((loaded) => ({ default: loaded.PaletteWindow })));

/** Opens the palette: from its key, and from the search in the sidebar. */
export const openPalette = palette.open;

/** Everything by its name: agents, asks, conversations, commands. It is loaded when it is opened. */
export function Palette() {
  if (!palette.use()) return null;
  return (
    <Suspense>
      <Window onClose={palette.close} />
    </Suspense>
  );
}
