import { lazy, Suspense } from 'react';
import { layer } from '../../ui/layer';

const sheet = layer();
const Window = lazy(() =>
  import('./window').then((loaded) => ({ default: loaded.ShortcutWindow })),
);

export const openShortcuts = sheet.open;

/** All keys, by where they hold. It is loaded when it is opened. */
export function Shortcuts() {
  if (!sheet.use()) return null;
  return (
    <Suspense>
      <Window onClose={sheet.close} />
    </Suspense>
  );
}
