import { type PointerEvent, useCallback, useRef, useState } from 'react';

/** Less is a click. */
const LEAST = 5;

interface Lane {
  left: number;
  width: number;
}

export interface Dragging {
  from: number;
  to: number;
}

/** Dragging across the lane with a mouse: what is dragged over, in pixels of the lane, and what is done at the end. */
export function useDrag(lane: Lane, onDone: (dragged: Dragging) => void) {
  const [dragging, setDragging] = useState<Dragging>();
  const begun = useRef<number>(undefined);
  const moved = useRef(false);
  const wasDrag = useCallback(() => moved.current, []);
  const placeOf = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(event.clientX - box.left - lane.left, lane.width));
  };
  const end = () => {
    begun.current = undefined;
    setDragging(undefined);
  };
  return {
    dragging,
    /** Whether what looks like a click was the end of a drag. */
    wasDrag,
    handlers: {
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        moved.current = false;
        if (event.pointerType !== 'mouse' || event.button !== 0) return;
        const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
        if (x < lane.left || x > lane.left + lane.width) return;
        begun.current = placeOf(event);
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        if (begun.current === undefined) return;
        const at = placeOf(event);
        if (!moved.current && Math.abs(at - begun.current) < LEAST) return;
        if (!moved.current) event.currentTarget.setPointerCapture(event.pointerId);
        moved.current = true;
        setDragging({ from: Math.min(at, begun.current), to: Math.max(at, begun.current) });
      },
      onPointerUp: () => {
        if (dragging) onDone(dragging);
        end();
      },
      onPointerCancel: end,
    },
  };
}
