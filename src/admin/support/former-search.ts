import { listInputIn, listLink } from '../sends/list-form.ts'

/** The address of the list that an address of the former search was for. */
export function formerSearch({ channel, state, from, to, reference }: Record<string, string>): string {
  return listLink(
    listInputIn({ channelId: channel, status: state, acceptedFrom: from, acceptedTo: to, reference }),
  )
}
