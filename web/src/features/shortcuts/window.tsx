import { Link } from '@tanstack/react-router';
import { spoken } from '../../shell/keys/chord';
import { Caps } from '../../shell/keys/keycap';
import { actionIds, actions, type Region, regionNames } from '../../shell/keys/map';
import { chordFor, useOwnKeys } from '../../shell/keys/own';
import { Dialog } from '../../ui/dialog';

/** The regions that have keys, each with its actions. */
export const byRegion = (Object.keys(regionNames) as Region[])
  .map((region) => ({ region, ids: actionIds.filter((id) => actions[id].region === region) }))
  .filter(({ ids }) => ids.length > 0);

/** The sheet with all shortcuts. */
export function ShortcutWindow({ onClose }: { onClose: () => void }) {
  useOwnKeys();
  return (
    <Dialog
      title="Keyboard shortcuts"
      open
      onClose={onClose}
      className="w-[min(760px,calc(100vw-32px))]"
    >
      <div className="gap-8 p-5 sm:columns-2">
        {byRegion.map(({ region, ids }) => (
          <section key={region} className="mb-5 break-inside-avoid">
            <h3 className="mb-1 font-medium text-fg-3 text-xs">{regionNames[region]}</h3>
            <dl>
              {ids.map((id) => (
                <div
                  key={id}
                  className="flex min-h-8 items-center gap-3 border-b py-1 last:border-0"
                >
                  <dt className="flex-1 text-sm">{actions[id].label}</dt>
                  <dd>
                    <span className="sr-only">{spoken(chordFor(id)) || 'no key'}</span>
                    <span aria-hidden="true">
                      <Caps chord={chordFor(id)} />
                    </span>
                  </dd>
                </div>
              ))}
              {region === 'dock' && (
                <div className="flex min-h-8 items-center gap-3 py-1">
                  <dt className="flex-1 text-sm">Pick an option</dt>
                  <dd>
                    <span className="sr-only">1 to 9</span>
                    <span aria-hidden="true">
                      <Caps chord="1" /> – <Caps chord="9" />
                    </span>
                  </dd>
                </div>
              )}
            </dl>
          </section>
        ))}
      </div>
      <p className="border-t px-5 py-3 text-fg-2 text-sm">
        Single-letter keys work only when their panel is focused.{' '}
        <Link
          to="/settings/$part"
          params={{ part: 'shortcuts' }}
          onClick={onClose}
          className="text-accent underline"
        >
          Change shortcuts
        </Link>
      </p>
    </Dialog>
  );
}
