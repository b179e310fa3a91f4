import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from 'react';
import { useSelectAgent } from '../../shell/selection';
import { useConversation } from '../../store/hooks';
import { agentById } from '../../store/selectors';
import { Sheet } from '../../ui/dialog';
import { roleName } from '../../ui/role';
import { useWide } from '../../ui/wide';
import { Inspector } from './inspector';

const LEAST = 400;
const MOST = 680;
const KEY = 'retinue.inspector.width';

/** The inspector: beside the page where there is room, over it where there is not. */
export function InspectorPlace({ conversation, agent }: { conversation: string; agent: string }) {
  const wide = useWide();
  const select = useSelectAgent();
  const close = () => select(undefined);
  const role = useConversation(conversation, (state) => agentById(state, agent)?.role);
  if (wide) return <Split conversation={conversation} agent={agent} onClose={close} />;
  return (
    <Sheet title={role ? `${roleName(role)}, agent` : 'Agent'} quietTitle open onClose={close}>
      <Inspector conversation={conversation} agent={agent} onClose={close} />
    </Sheet>
  );
}

interface Props {
  conversation: string;
  agent: string;
  onClose: () => void;
}

/** Beside the page. Opening it leaves the focus where it was; closing it gives the focus back. */
function Split({ conversation, agent, onClose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useWidth();
  const opener = useRef<Element | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever opened another agent gets the focus back
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement !== document.body && !box.current?.contains(activeElement)) {
      opener.current = activeElement;
    }
  }, [agent]);
  const close = () => {
    const { activeElement } = document;
    const ours = activeElement === document.body || box.current?.contains(activeElement);
    onClose();
    if (ours) giveBack(opener.current, agent);
  };
  useEscape(close);
  return (
    <div
      ref={box}
      className="relative w-[44%] min-w-[400px] max-w-[680px] shrink-0 border-l"
      style={width === undefined ? undefined : { width }}
    >
      <Resizer
        width={() => box.current?.offsetWidth ?? LEAST}
        shown={width}
        onChange={(to) => setWidth(Math.round(Math.min(MOST, Math.max(LEAST, to))))}
      />
      <Inspector conversation={conversation} agent={agent} onClose={close} />
    </div>
  );
}

/** Rows may have been drawn again since: then the row of the same agent, and if there is none the page's heading. */
function giveBack(opener: Element | null, agent: string): void {
  const name = CSS.escape(agent);
  const row = opener?.isConnected
    ? opener
    : (document.querySelector(`main [data-agent="${name}"]`) ?? document.querySelector('main h1'));
  if (row instanceof HTMLElement) row.focus({ preventScroll: true });
}

/** Escape closes the inspector when nothing above it took the key: menus, dialogs and fields come first. */
function useEscape(close: () => void): void {
  const latest = useRef(close);
  latest.current = close;
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
      if (document.querySelector('dialog[open]')) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function useWidth(): [number | undefined, (to: number) => void] {
  const [width, setWidth] = useState<number | undefined>(() => {
    const kept = Number(localStorage.getItem(KEY));
    return kept >= LEAST && kept <= MOST ? kept : undefined;
  });
  return [
    width,
    (to) => {
      setWidth(to);
      localStorage.setItem(KEY, String(to));
    },
  ];
}

/** The edge between page and inspector, to be dragged or moved with the arrow keys. */
function Resizer({
  width,
  shown,
  onChange,
}: {
  width: () => number;
  shown: number | undefined;
  onChange: (to: number) => void;
}) {
  const from = useRef<{ x: number; width: number }>(undefined);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowLeft' ? 24 : event.key === 'ArrowRight' ? -24 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    onChange(width() + step);
  };
  const onPointerDown = (event: PointerEvent) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { x: event.clientX, width: width() };
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved
    <div
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label="Width of the inspector"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={shown ?? MOST}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={(event) => {
        if (from.current) onChange(from.current.width + from.current.x - event.clientX);
      }}
      onPointerUp={() => {
        from.current = undefined;
      }}
      className="absolute inset-y-0 -left-1 z-10 w-2 cursor-col-resize touch-none hover:bg-accent/25 focus-visible:bg-accent/40"
    />
  );
}
