/** The sign of the app. */
export function Mark() {
  return (
    <svg viewBox="0 0 24 24" className="size-6" aria-hidden="true">
      <rect x="1" y="1" width="22" height="22" rx="6.5" className="fill-ink" />
      <path d="M6 16.5V9.2l3.4 2.9L12 7l2.6 5.1L18 9.2v7.3z" className="fill-on-ink" />
    </svg>
  );
}
