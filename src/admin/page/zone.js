// Shows the times of a page in the reader's zone, with its name. Without this script they are in UTC.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' }

for (const time of zone === 'UTC' ? [] : document.querySelectorAll('time.moment')) {
  const precise = time.textContent.includes('.') ? { fractionalSecondDigits: 3 } : {}
  const options = { ...parts, second: '2-digit', hourCycle: 'h23', timeZoneName: 'short', ...precise }
  const shown = new Intl.DateTimeFormat('en-CA', options).format(new Date(time.dateTime))
  time.title = time.textContent
  time.textContent = shown.replace(', ', ' ')
}
