/** Makes something when it is first needed, and keeps it. */
export function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => (made ??= make())
}
