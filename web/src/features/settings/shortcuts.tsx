import { type KeyboardEvent, useState } from 'react';
import { chordOf, isPlain, spoken } from '../../shell/keys/chord';
import { Caps } from '../../shell/keys/keycap';
import { type ActionId, actions, objection, regionNames } from '../../shell/keys/map';
import { chordFor, isOwn, remap, resetKeys, useOwnKeys } from '../../shell/keys/own';
import { announce } from '../../ui/announcer';
import { Button } from '../../ui/button';
import { byRegion } from '../shortcuts/window';
import { Row, Rows, Section } from './parts';

/** Every key, to be changed. */
export function ShortcutSettings() {
  const own = useOwnKeys();
  return (
    <>
      <div className="mb-6 flex flex-wrap items-center gap-3">
        <p className="min-w-60 flex-1 text-fg-2 text-sm">
          Kept in this browser. Single-letter keys work only when their panel is focused, and never
          while you write.
        </p>
        <Button onClick={resetKeys} disabled={Object.keys(own).length === 0}>
          Reset all
        </Button>
      </div>
      {byRegion.map(({ region, ids }) => (
        <Section key={region} title={regionNames[region]}>
          <Rows label={regionNames[region]}>
            {ids.map((id) => (
              <Shortcut key={id} id={id} />
            ))}
          </Rows>
        </Section>
      ))}
    </>
  );
}

function Shortcut({ id }: { id: ActionId }) {
  const [asking, setAsking] = useState(false);
  const [why, setWhy] = useState<string>();
  const { label, fixed } = actions[id];
  const chord = chordFor(id);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!asking || event.key === 'Tab') return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Escape') return setAsking(false);
    const pressed = chordOf(event.nativeEvent);
    if (pressed === undefined) return;
    const next = pressed === 'backspace' || pressed === 'delete' ? '' : pressed;
    const against = objection(id, next, chordFor, isPlain);
    setWhy(against);
    if (against) return announce(against);
    remap(id, next);
    setAsking(false);
    announce(next === '' ? `${label} has no key` : `${label}: ${spoken(next)}`);
  };
  return (
    <Row>
      <span className="min-w-40 flex-1">{label}</span>
      {asking ? (
        <span className="text-fg-2 text-xs">
          {why ?? 'Press the new keys; Backspace for none, Esc to leave it.'}
        </span>
      ) : (
        <>
          <span className="sr-only">{chord === '' ? 'no key' : spoken(chord)}</span>
          <span aria-hidden="true">
            {chord === '' ? (
              <span className="text-fg-3 text-xs">none</span>
            ) : (
              <Caps chord={chord} />
            )}
          </span>
        </>
      )}
      {fixed ? (
        <span className="w-[130px] text-right text-fg-3 text-xs">cannot be changed</span>
      ) : (
        <span className="flex w-[130px] justify-end gap-1">
          {isOwn(id) && !asking && (
            <Button
              size="small"
              look="ghost"
              aria-label={`Reset the key of ${label}`}
              onClick={() => remap(id, undefined)}
            >
              Reset
            </Button>
          )}
          <Button
            size="small"
            aria-label={
              asking ? `Listening… for the new keys of ${label}` : `Change the key of ${label}`
            }
            aria-pressed={asking}
            onClick={() => {
              setWhy(undefined);
              setAsking((before) => !before);
            }}
            onBlur={() => setAsking(false)}
            onKeyDown={onKeyDown}
          >
            {asking ? 'Listening…' : 'Change'}
          </Button>
        </span>
      )}
    </Row>
  );
}
