// The only script of the pages. Without it they work too: times are in UTC, and the account's name is sent by Enter.

// Shows the times of a page in the reader's zone, with its name.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' }

for (const time of zone === 'UTC' ? [] : document.querySelectorAll('time.moment')) {
  const precise = time.textContent.includes('.') ? { fractionalSecondDigits: 3 } : {}
  const named = time.textContent.includes('UTC') ? { timeZoneName: 'short' } : {}
  const options = { ...parts, second: '2-digit', hourCycle: 'h23', timeZone: zone, ...named, ...precise }
  const shown = new Intl.DateTimeFormat('en-CA', options).format(new Date(time.dateTime))
  time.title = `${time.dateTime.slice(0, 19).replace('T', ' ')} UTC`
  time.textContent = shown.replace(', ', ' ')
}
for (const name of zone === 'UTC' ? [] : document.querySelectorAll('.zone')) name.textContent = zone

// Completes the name of an account while it is typed, and opens the account that is chosen from the list.
for (const field of document.querySelectorAll('input[list]')) {
  let asked = ''
  field.addEventListener('input', async () => {
    const typed = field.value.trim()
    const isChosen = [...field.list.options].some(({ value }) => value === typed)
    if (isChosen) return field.form.requestSubmit()
    if (typed === '' || typed === asked) return
    asked = typed
    const answer = await fetch(`/accounts.json?part=${encodeURIComponent(typed)}`)
    if (!answer.ok || asked !== typed) return
    const names = await answer.json()
    field.list.replaceChildren(...names.map((name) => new Option(name, name)))
  })
}
