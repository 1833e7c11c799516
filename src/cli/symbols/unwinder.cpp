// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/unwinder.hpp"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <filesystem>
#include <map>

#include "cli/symbols/process_map.hpp"
#include "cli/symbols/stack_walks.hpp"
#include "cli/symbols/symbol_name.hpp"
#include "cli/symbols/unit_scopes.hpp"

namespace holdfast::cli {
namespace {

struct freed {
    void operator()(Dwfl *one) const { dwfl_end(one); }
};

// Debugging information apart from its program, by the build's number, where packages install it: nothing is fetched.
int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                   const char *link, GElf_Word crc, char **found) {
    return dwfl_build_id_find_debuginfo(module, data, name, base, file, link, crc, found);
}

int find_no_elf(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, Elf **) {
    return -1; // each was given when it was reported
}

const Dwfl_Callbacks callbacks = {
    .find_elf = find_no_elf, .find_debuginfo = find_debuginfo, .section_address = nullptr, .debuginfo_path = nullptr};

std::string base_name(const char *path) {
    return path ? std::filesystem::path(path).filename().string() : "";
}

std::string name_of_function(Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    for (unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        if (const char *mangled = dwarf_formstring(dwarf_attr_integrate(function, kind, &attribute)))
            return without_parentheses(plain_symbol_name(mangled));
    }
    const char *name = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_name, &attribute));
    return name ? std::string(name, strnlen(name, symbol_name_bytes_max)) : "";
}

unsigned number_in(Dwarf_Die *of, unsigned kind) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(of, kind, &attribute), &value) == 0 ? static_cast<unsigned>(value) : 0;
}

std::vector<std::uint64_t> code_in(const std::vector<mapping> &mapped) {
    std::vector<std::uint64_t> begins;
    for (const mapping &each : mapped) {
        if (each.executable && each.is_of_file())
            begins.push_back(each.from);
    }
    return begins;
}

// Where the function that contains it calls what is inlined.
void put_call(Dwarf_Die *inlined, Dwarf_Die *unit, source_frame &caller) {
    caller.line = number_in(inlined, DW_AT_call_line);
    Dwarf_Files *files = nullptr;
    std::size_t count = 0, file = number_in(inlined, DW_AT_call_file);
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
        caller.file = base_name(dwarf_filesrc(files, file, nullptr, nullptr));
}

} // namespace

struct unwinder::tables {
    pid_t process;
    std::unique_ptr<Dwfl, freed> all;
    std::vector<mapping> mapped;
    std::map<const Dwfl_Module *, code_place> begins;  // of the files
    std::map<const Dwfl_Module *, unit_scopes> scopes; // of those that were asked for
    bool can_unwind = false;
    const hf_stack *stack = nullptr; // that is unwound
    std::vector<std::uint64_t> found, read;
    stack_walks walks{[this](std::uint64_t address) { return is_code(address); }};

    // Files begin where their first bytes are mapped.
    explicit tables(pid_t of) : process(of), all(dwfl_begin(&callbacks)), mapped(mappings_of(of)) {
        if (!all)
            return;
        dwfl_report_begin(all.get());
        for (const mapping &each : mapped) {
            bool has_code = std::ranges::any_of(
                mapped, [&](const mapping &other) { return other.executable && other.file == each.file; });
            if (!each.is_of_file() || each.offset != 0 || !has_code)
                continue;
            descriptor file = open_mapped_file(process, each);
            std::optional<file_identity> identity = identity_of(file);
            const Dwfl_Module *module = identity ? dwfl_report_elf(all.get(), each.path.c_str(), each.path.c_str(),
                                                                   file.get(), each.from, false)
                                                 : nullptr;
            if (!module)
                continue;
            file.release(); // it is the library's from then on
            begins.insert_or_assign(module, code_place{.file = *identity, .path = each.path, .offset = each.from});
        }
        dwfl_report_end(all.get(), nullptr, nullptr);
        can_unwind = dwfl_attach_state(all.get(), nullptr, process, &thread_callbacks, this);
    }

    bool is_code(std::uint64_t address) const {
        auto behind = std::ranges::upper_bound(mapped, address, {}, &mapping::from);
        return behind != mapped.begin() && std::prev(behind)->executable && address < std::prev(behind)->to;
    }

    // --- what dwfl asks of the one thread that there is: the copy

    static pid_t next_thread(Dwfl *, void *self, void **thread) {
        if (*thread)
            return 0;
        *thread = self;
        return static_cast<tables *>(self)->process;
    }

    static bool get_thread(Dwfl *, pid_t, void *self, void **thread) {
        *thread = self;
        return true;
    }

    static bool read_memory(Dwfl *, Dwarf_Addr address, Dwarf_Word *result, void *self) {
        auto &of = *static_cast<tables *>(self);
        const hf_stack &stack = *of.stack;
        of.read.push_back(address);
        std::uint64_t bytes = std::min<std::uint64_t>(stack.bytes, sizeof(stack.content));
        if (address < stack.from || bytes < sizeof(*result) || address - stack.from > bytes - sizeof(*result))
            return false;
        std::memcpy(result, stack.content + (address - stack.from), sizeof(*result));
        return true;
    }

    static bool set_registers(Dwfl_Thread *thread, void *self) {
        const hf_stack &stack = *static_cast<tables *>(self)->stack;
        dwfl_thread_state_register_pc(thread, stack.instruction);
        for (int i = 0; i < HF_STACK_REGISTERS; i++) {
            Dwarf_Word value = stack.registers[i];
            if (stack.known >> i & 1 && !dwfl_thread_state_registers(thread, i, 1, &value))
                return false;
        }
        return true;
    }

    static constexpr Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
                                                               .get_thread = get_thread,
                                                               .memory_read = read_memory,
                                                               .set_initial_registers = set_registers,
                                                               .detach = nullptr,
                                                               .thread_detach = nullptr};

    static int take_frame(Dwfl_Frame *frame, void *self) {
        auto &of = *static_cast<tables *>(self);
        Dwarf_Addr address = 0;
        bool is_innermost = false;
        if (!dwfl_frame_pc(frame, &address, &is_innermost))
            return DWARF_CB_ABORT;
        // Behind a call the next instruction may be another line's, or another function's.
        address -= !is_innermost;
        if (!of.is_code(address))
            return DWARF_CB_ABORT;
        of.found.push_back(address);
        return of.found.size() < frames_max ? DWARF_CB_OK : DWARF_CB_ABORT;
    }
};

unwinder::unwinder(pid_t process) : tables_(std::make_unique<tables>(process)) {}
unwinder::unwinder(unwinder &&) noexcept = default;
unwinder &unwinder::operator=(unwinder &&) noexcept = default;
unwinder::~unwinder() = default;

std::vector<std::uint64_t> unwinder::frames_of(const hf_stack &stack) {
    if (!tables_->can_unwind)
        return {};
    if (const auto *found = tables_->walks.known(stack))
        return *found;
    tables_->found.clear();
    tables_->read.clear();
    tables_->stack = &stack;
    dwfl_getthread_frames(tables_->all.get(), tables_->process, tables::take_frame, tables_.get());
    tables_->stack = nullptr;
    tables_->walks.keep(stack, tables_->read, tables_->found);
    return tables_->found;
}

std::size_t unwinder::walks_kept() const {
    return tables_->walks.count();
}

bool unwinder::is_outdated() const {
    return code_in(mappings_of(tables_->process)) != code_in(tables_->mapped);
}

std::optional<code_place> unwinder::place_of(std::uint64_t address) const {
    auto file = tables_->begins.find(tables_->all ? dwfl_addrmodule(tables_->all.get(), address) : nullptr);
    if (file == tables_->begins.end())
        return std::nullopt;
    code_place place = file->second;
    place.offset = address - place.offset;
    return place;
}

std::vector<source_frame> unwinder::source_of(std::uint64_t address) {
    Dwarf_Addr bias = 0;
    Dwfl_Module *module = tables_->all ? dwfl_addrmodule(tables_->all.get(), address) : nullptr;
    Dwarf_Die *unit = module ? dwfl_module_addrdie(module, address, &bias) : nullptr;
    if (!unit)
        return {};
    source_frame next;
    if (Dwfl_Line *line = dwfl_module_getsrc(module, address)) {
        int number = 0;
        next.file = base_name(dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr));
        next.line = static_cast<unsigned>(std::max(number, 0));
    }
    std::vector<source_frame> frames;
    for (Dwarf_Die scope : tables_->scopes[module].at(unit, address - bias)) {
        int tag = dwarf_tag(&scope);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        next.function = name_of_function(&scope);
        frames.push_back(next);
        if (tag == DW_TAG_subprogram)
            break;
        put_call(&scope, unit, next);
    }
    return frames;
}

std::string unwinder::function_at(std::uint64_t address) {
    Dwfl_Module *module = tables_->all ? dwfl_addrmodule(tables_->all.get(), address) : nullptr;
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char *name =
        module ? dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr) : nullptr;
    return name && offset < symbol.st_size ? without_parentheses(plain_symbol_name(name)) : "";
}

std::string unwinder::why_not() {
    return "";
}

} // namespace holdfast::cli
