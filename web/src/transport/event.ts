import type { Event, StreamEvent } from '../api/types';
import type { Frame } from './sse';

export const parsed = (frame: Frame): StreamEvent => JSON.parse(frame.data) as StreamEvent;

/** Whether something happened and is recorded, rather than passing by. */
export const isRecorded = (event: StreamEvent): event is Event => 'data' in event && 'seq' in event;
