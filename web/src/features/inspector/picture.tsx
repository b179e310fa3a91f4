import { useEffect, useState } from 'react';
import { useRead } from '../../api/useread';
import { useTexts } from '../../api/within';
import { Skeleton } from '../../ui/small';

const shape = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)$/;

/** A kept image as bytes; undefined if it is of a kind that is not shown. What could hold a script is not. */
export function imageOf(text: string): Blob | undefined {
  const found = shape.exec(text);
  if (!found) return undefined;
  const bytes = Uint8Array.from(atob(found[2] ?? ''), (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type: found[1] ?? '' });
}

/** An image that an agent looked at. It is read while it is shown and let go of after that. */
export function Picture({ hash, label }: { hash: string; label: string }) {
  const texts = useTexts();
  const { value, error } = useRead(hash, (signal) => texts(hash, { signal }));
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const image = value && imageOf(value.text);
    if (!image) return;
    const made = URL.createObjectURL(image);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [value]);
  if (error || (value && !imageOf(value.text))) {
    return <p className="text-fg-3 text-sm">The image cannot be shown.</p>;
  }
  if (!address) return <Skeleton className="h-32" />;
  return <img src={address} alt={label} className="max-h-80 max-w-full rounded-lg border" />;
}
