#pragma once

// Memory that an idle program does not need.

namespace tiphys::host {

// Takes the pages of the program's own code and constants out of this process; those that are needed again come back from
// the page cache, sixteen at a time. A start runs through most of the file once, an idle program through little of it.
// Does nothing when the program is linked dynamically, since other files hold its code then.
void release_code_pages();

}  // namespace tiphys::host
