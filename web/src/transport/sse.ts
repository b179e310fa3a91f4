// Server-sent events, read from a fetch: the browser's own reader can send no header that says who asks.

export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** Takes bytes as they come and gives whole frames. Comments count as a sign of life and are no frame. */
export class FrameReader {
  /** How long the server asks to be left alone after a break, if it said so. */
  retry: number | undefined;
  private readonly decoder = new TextDecoder();
  private rest = '';
  private frame: Frame = { id: '', event: 'message', data: '' };
  private filled = false;

  push(bytes: Uint8Array): Frame[] {
    this.rest += this.decoder.decode(bytes, { stream: true });
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    const frames: Frame[] = [];
    for (const line of lines) {
      if (line !== '') this.take(line);
      else if (this.filled) frames.push(this.end());
    }
    return frames;
  }

  private take(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') {
      this.frame.data += this.filled ? `\n${value}` : value;
      this.filled = true;
    } else if (name === 'id') this.frame.id = value;
    else if (name === 'event') this.frame.event = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
  }

  private end(): Frame {
    const frame = this.frame;
    this.frame = { id: '', event: 'message', data: '' };
    this.filled = false;
    return frame;
  }
}
