/** The pages of one send. */
export function SendTabs({ requestId, at }: { requestId: string; at: 'timeline' | 'callbacks' }) {
  const link = `/support/${requestId}`
  return (
    <nav class="tabs" aria-label="This send">
      <a href={link} aria-current={at === 'timeline' ? 'page' : undefined}>
        Timeline
      </a>
      <a href={`${link}/callbacks`} aria-current={at === 'callbacks' ? 'page' : undefined}>
        Callbacks
      </a>
    </nav>
  )
}
